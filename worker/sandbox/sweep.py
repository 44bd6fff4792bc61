"""What killed judges and workers leave behind: processes, control groups, and folders in /tmp."""

import os

from worker.sandbox.cgroup import ControlGroups
from worker.sandbox.cgroup_root import find_control_groups
from worker.sandbox.confinement import SandboxSettings, SandboxUnavailable
from worker.sandbox.landlock import evict, processes
from worker.sandbox.namespaces import group_name
from worker.sandbox.scratch import sweep_scratch
from worker.sandbox.slots import open_slots


def sweep(settings: SandboxSettings) -> None:
    """End and remove what is of judges that are gone; what is in use is locked."""
    try:
        slots = open_slots(settings.state, settings.candidate_uids)
    except SandboxUnavailable:
        sweep_scratch({os.geteuid()})
        return
    groups = _groups(settings)
    alive = {uid for _, uid, zombie in processes() if not zombie}
    for slot in slots.take_used():
        if slot.uid in alive:
            evict(slot.uid)
        if groups is not None:
            groups.named(group_name(slot.uid)).remove()
        slot.release()
    sweep_scratch({os.geteuid(), *settings.candidate_uids})


def _groups(settings: SandboxSettings) -> ControlGroups | None:
    try:
        return find_control_groups(settings.cgroup)
    except SandboxUnavailable:
        return None
