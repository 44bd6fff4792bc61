"""What killed judges leave behind: the empty control groups of their candidates."""

from worker.sandbox.cgroup import find_control_groups
from worker.sandbox.confinement import SandboxSettings, SandboxUnavailable
from worker.sandbox.namespaces import group_name
from worker.sandbox.slots import open_slots


def sweep(settings: SandboxSettings) -> None:
    """Remove the groups of all uids that nobody holds, where we make any."""
    uids = range(settings.first_uid, settings.first_uid + settings.uids)
    try:
        slots = open_slots(settings.state, uids)
        groups = find_control_groups(settings.cgroup)
    except SandboxUnavailable:
        return
    for slot in slots.take_used():
        groups.named(group_name(slot.uid)).remove()
        slot.release()
