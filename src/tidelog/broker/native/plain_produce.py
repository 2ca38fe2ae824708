"""Finds the compiled produce path (`plain_produce.c`), and tells it where Python's objects have their slots.

It is optional: `make native`, or TIDELOG_NATIVE=1 when the package is built, puts it beside this file. One
that was made of another version of its source is not used.
"""

import hashlib
import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from crc32c import crc32c

from tidelog.base.disk import PosixFile
from tidelog.base.errors import TidelogError
from tidelog.replication.acks_waiters import AcksWaiters
from tidelog.replication.fetch_watchers import FetchWatchers
from tidelog.replication.high_watermark import HighWatermark
from tidelog.replication.log_sync import FSYNC, LogSync
from tidelog.replication.partition import Partition
from tidelog.replication.traffic import TopicTraffic
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_health import LogHealth
from tidelog.storage.log_writer import LogWriter
from tidelog.storage.producers.producers import Producers
from tidelog.storage.producers.state import ProducerState
from tidelog.storage.segment.active import RECENT_MAX, ActiveSegment
from tidelog.storage.segment.indexes import SegmentIndexes
from tidelog.storage.segment.offset_index import OffsetIndex
from tidelog.storage.segment.segments import SegmentList
from tidelog.storage.segment.time_index import TimeIndex
from tidelog.storage.space_reserve import SpaceReserve
from tidelog.wire.batch import BatchHeader

SOURCE = Path(__file__).with_suffix(".c")
MODULE = "tidelog.broker.native._plain_produce"

OFF, ON = "off", "on"

Produce = Callable[[Any, Any, int, memoryview], Any]
"""(services, fronts, front_end, frame) -> Reply, or the parts of a late one; None: nothing has been done."""

CLASSES = (
    *(Partition, PartitionLog, LogConfig, LogHealth, SpaceReserve, HighWatermark, AcksWaiters, FetchWatchers),
    *(LogSync, LogWriter, ProducerState, Producers, SegmentList, ActiveSegment, SegmentIndexes, OffsetIndex),
    *(TimeIndex, LeaderEpochs, PosixFile, TopicTraffic),
)

log = logging.getLogger("tidelog.broker")


def compiled_produce(choice: str, front: type, reply: type) -> Produce | None:
    """Returns the compiled path for a value of `produce.compiled`: auto, off or on.

    None where Python serves all requests. Raises TidelogError where the setting insists and it cannot be had.
    """
    if choice == OFF:
        return None
    try:
        produce = bound(import_module(MODULE), front, reply)
    except (ImportError, TypeError, OSError) as error:
        why = made_for_others() if isinstance(error, ModuleNotFoundError) else str(error)
        if choice == ON:
            raise TidelogError(
                f"the compiled produce path cannot be used: {why or 'it was not built'}. Build it with "
                "TIDELOG_NATIVE=1 pip install, which needs a C compiler, or set produce.compiled=auto"
            ) from error
        if why is not None:
            log.warning("the compiled produce path is not used: %s; build it anew", why)
        return None
    log.debug("plain produce requests are served by compiled code")
    return produce


def bound(module: ModuleType, front: type, reply: type) -> Produce:
    """Raises ImportError for another version of the source, TypeError where a class has other slots."""
    if source_hash() != getattr(module, "SOURCE", None):
        raise ImportError("it was made of another version of its source")
    classes = {one.__name__: one for one in (front, *CLASSES)}
    module.bind(classes, reply, BatchHeader, crc32c, FSYNC, RECENT_MAX)
    produce: Produce = module.produce
    return produce


def made_for_others() -> str | None:
    """Names the modules that this Python does not look at."""
    names = sorted(path.name for path in SOURCE.parent.glob(f"{MODULE.rpartition('.')[2]}.*.so"))
    return f"{', '.join(names)} was made for another Python than this one" if names else None


def source_hash() -> str:
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
