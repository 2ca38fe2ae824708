"""Up to where each kind of reader may read a partition."""

from enum import Enum, auto

READ_COMMITTED = 1
"""The isolation level of a consumer that reads only decided transactions."""


class ReadLimit(Enum):
    LOG_END = auto()
    """Followers, and a broker that repairs its damaged log: all that is written."""
    HIGH_WATERMARK = auto()
    """Consumers: what no change of leader takes back."""
    LAST_STABLE_OFFSET = auto()
    """Consumers with `isolation.level=read_committed`: what lies below every undecided transaction."""
    REPLICATED_END = auto()
    """Coordinators that load their state: all that the in-sync replicas have, even if they are too few for
    the high watermark to move."""

    @classmethod
    def of_consumer(cls, isolation_level: int) -> "ReadLimit":
        return cls.LAST_STABLE_OFFSET if isolation_level == READ_COMMITTED else cls.HIGH_WATERMARK
