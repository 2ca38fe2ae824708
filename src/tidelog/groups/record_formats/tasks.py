"""The tasks of a streams group: a partition of a subtopology, and what a member does with it."""

from enum import IntEnum
from typing import NamedTuple, TypeAlias

from tidelog.groups.record_formats.assignment import Parts


class Role(IntEnum):
    ACTIVE = 0
    """Reads the input, writes the output; one member at a time."""
    STANDBY = 1
    """Keeps a copy of the task's state up to date, to take over quickly."""
    WARMUP = 2
    """Builds up the state of a task that shall move here."""


class Duty(NamedTuple):
    """What a member does, and for which part of the topology."""

    role: Role
    subtopology_id: str


Tasks: TypeAlias = Parts[Duty]


def of_role(tasks: Tasks, role: Role) -> dict[str, frozenset[int]]:
    """By subtopology, sorted: as requests and answers show them."""
    return {
        duty.subtopology_id: partitions for duty, partitions in sorted(tasks.items()) if duty.role is role
    }
