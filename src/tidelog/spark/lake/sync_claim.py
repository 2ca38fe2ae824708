"""Which topic a table is filled from, and with which checkpoint: written down on both sides.

The checkpoint knows how far the topic was read, the table which batches it holds; either without the other
would skip records or write them twice. So a sync begins only where both tell of the same sync.
"""

import fcntl
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidelog.spark.lake.errors import LakeError
from tidelog.spark.lake.storage import Storage

LOCK = "lock"
SPARK_LOG = "spark.log"
IN_CHECKPOINT = "sync.json"
IN_TABLE = "_tidelog/synced.json"


class SyncRefused(LakeError):
    """Checkpoint, topic and table do not belong together."""


class AlreadySyncing(LakeError):
    """Another process syncs with this checkpoint right now."""


@dataclass(frozen=True, slots=True)
class Claim:
    topic: str
    topic_id: str
    table: str
    table_id: str


@contextmanager
def locked(checkpoint: Path) -> Iterator[None]:
    """For as long as the sync runs; the system lets go of it when the process dies, however it does."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    handle = os.open(checkpoint / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    except BlockingIOError as error:
        who = os.pread(handle, 20, 0).decode()
        raise AlreadySyncing(f"process {who} syncs with the checkpoint {checkpoint} already") from error
    finally:
        os.close(handle)


def claim(checkpoint: Path, storage: Storage, wanted: Claim) -> None:
    """Write down what belongs together, or find that it does; SyncRefused says what does not."""
    kept = _parsed((checkpoint / IN_CHECKPOINT).read_bytes()) if _is_known(checkpoint) else None
    held = _parsed(storage.read(IN_TABLE))
    if kept is not None:
        _compare(kept, wanted, checkpoint)
    if held is not None and (kept is None or kept["sync"] != held["sync"]):
        raise _taken(wanted, held, checkpoint)
    facts = kept or {
        "sync": str(uuid.uuid4()),
        "topic": wanted.topic,
        "topicId": wanted.topic_id,
        "table": wanted.table,
        "tableId": wanted.table_id,
    }
    # The checkpoint first: a table whose claim names no known query could not be told from one whose
    # checkpoint was lost.
    if kept is None:
        _write(checkpoint / IN_CHECKPOINT, facts)
    if held is None:
        claim = {name: facts[name] for name in ("sync", "topic")} | {"checkpoint": str(checkpoint)}
        if not storage.write_first(IN_TABLE, json.dumps(claim, indent=1).encode()):
            # Two began at the same time, each with a checkpoint of its own.
            raise _taken(wanted, _parsed(storage.read(IN_TABLE)) or {}, checkpoint)


def _taken(wanted: Claim, held: Mapping[str, Any], checkpoint: Path) -> SyncRefused:
    return SyncRefused(
        f"the table {wanted.table} is filled from the topic {held.get('topic')} with the checkpoint"
        f" {held.get('checkpoint')}, and not with {checkpoint}: records would be in it twice"
    )


def _is_known(checkpoint: Path) -> bool:
    if (checkpoint / IN_CHECKPOINT).exists():
        return True
    if any(path.name not in (LOCK, SPARK_LOG) for path in checkpoint.iterdir()):
        raise SyncRefused(f"{checkpoint} is not empty, and no checkpoint of a sync")
    return False


def _compare(kept: Mapping[str, Any], wanted: Claim, checkpoint: Path) -> None:
    if kept["topic"] != wanted.topic:
        raise SyncRefused(
            f"{checkpoint} is the checkpoint of the topic {kept['topic']}, and not of {wanted.topic}"
        )
    if kept["topicId"] != wanted.topic_id:
        raise SyncRefused(
            f"the topic {wanted.topic} was deleted and created again since {checkpoint} was made;"
            " what it holds now is not what the table was filled from"
        )
    if kept["tableId"] != wanted.table_id:
        place = f"at {kept['table']}" if kept["table"] != wanted.table else "that was there before"
        raise SyncRefused(
            f"{checkpoint} belongs to the table {place}, and not to the one at {wanted.table}:"
            " records that were read already would be missing from it"
        )


def _parsed(data: bytes | None) -> dict[str, Any] | None:
    if data is None:
        return None
    facts: dict[str, Any] = json.loads(data)
    return facts


def _write(path: Path, facts: Mapping[str, Any]) -> None:
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(facts, indent=1))
    fresh.replace(path)
