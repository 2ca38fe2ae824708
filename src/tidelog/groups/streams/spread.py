"""Whether a new assignment of tasks is worth its moves: members keep their tasks where it is no more even.

The sticky assignor hands out standbys by the load at that moment, so two runs over the same group can
disagree about which member holds a copy. Such a move would copy state over the network and gain nothing.
"""

from collections import Counter
from collections.abc import Mapping

from tidelog.groups.record_formats.tasks import Role, Tasks


def is_as_good(
    before: Mapping[str, Tasks], after: Mapping[str, Tasks], process_of: Mapping[str, str]
) -> bool:
    """Whether `before` gives out what `after` does, at least as evenly, with no task twice on a process."""
    return (
        _copies(before) == _copies(after)
        and _is_once_a_process(before, process_of)
        and _unevenness(before, {Role.ACTIVE}) <= _unevenness(after, {Role.ACTIVE})
        and _unevenness(before, set(Role)) <= _unevenness(after, set(Role))
    )


def _copies(targets: Mapping[str, Tasks]) -> Counter[tuple[Role, str, int]]:
    """How many members hold each task in each role."""
    return Counter(
        (duty.role, duty.subtopology_id, number)
        for target in targets.values()
        for duty, numbers in target.items()
        for number in numbers
    )


def _is_once_a_process(targets: Mapping[str, Tasks], process_of: Mapping[str, str]) -> bool:
    held = Counter(
        (process_of[member_id], duty.subtopology_id, number)
        for member_id, target in targets.items()
        for duty, numbers in target.items()
        for number in numbers
    )
    return max(held.values(), default=1) == 1


def _unevenness(targets: Mapping[str, Tasks], roles: set[Role]) -> int:
    """The sum of the squares of the members' loads: the smaller, the more even."""
    return sum(
        sum(len(numbers) for duty, numbers in target.items() if duty.role in roles) ** 2
        for target in targets.values()
    )
