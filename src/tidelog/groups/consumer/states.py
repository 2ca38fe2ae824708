"""The states of a group of the new kind. They follow from epochs and members, and are not stored."""

from enum import Enum


class GroupState(Enum):
    """Spelled as ConsumerGroupDescribe and ListGroups show them."""

    EMPTY = "Empty"
    """No members; lives on for its offsets."""
    NOT_READY = "NotReady"
    """Of a streams group alone: topics that it needs are missing, or have the wrong number of partitions."""
    ASSIGNING = "Assigning"
    """Something changed, and the next heartbeat computes a new target assignment."""
    RECONCILING = "Reconciling"
    """The target is there; members are still letting go of partitions or waiting for them."""
    STABLE = "Stable"
    """Every member has what the target gives it."""
    DEAD = "Dead"
    """There is no such group."""
