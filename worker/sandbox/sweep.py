"""What killed judges leave behind: empty control groups, and folders in /tmp."""

import os

from worker.sandbox.cgroup import find_control_groups
from worker.sandbox.confinement import SandboxSettings, SandboxUnavailable
from worker.sandbox.namespaces import group_name
from worker.sandbox.scratch import sweep_scratch
from worker.sandbox.slots import open_slots


def sweep(settings: SandboxSettings) -> None:
    """Remove folders and groups of processes that are gone; those in use are locked."""
    uids = range(settings.first_uid, settings.first_uid + settings.uids)
    sweep_scratch({os.geteuid(), *uids})
    try:
        slots = open_slots(settings.state, uids)
        groups = find_control_groups(settings.cgroup)
    except SandboxUnavailable:
        return
    for slot in slots.take_used():
        groups.named(group_name(slot.uid)).remove()
        slot.release()
