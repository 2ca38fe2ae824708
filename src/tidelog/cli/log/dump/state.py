"""The small files beside a log: producer snapshots and checkpoints."""

from collections.abc import Iterator

from tidelog.base.errors import StorageError
from tidelog.cli.log.dumped import Dumped, moment
from tidelog.cli.log.files import read_bytes
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log_dir import checkpoint_text
from tidelog.storage.producers.snapshot import decode


def dump_snapshot(path: str, end: int) -> Iterator[Dumped]:
    raw = read_bytes(path)
    try:
        producers = decode(raw, end, path)
    except StorageError as error:
        yield _damage(str(error))
        return
    layout = "{:>20}  {:>6}  {:>13}  {:>12}  {:>12}  {}"
    heading = layout.format("Producer", "Epoch", "Last sequence", "Last offset", "Open since", "Newest")
    yield Dumped("heading", heading, {"end_offset": end, "crc_ok": True})
    for producer_id, producer in producers:
        last = producer.batches[-1] if producer.batches else None
        facts = {
            "producer_id": producer_id,
            "epoch": producer.epoch,
            "last_sequence": producer.last_sequence,
            "last_offset": last.last_offset if last else -1,
            "transaction_first_offset": producer.txn_first if producer.txn_first >= 0 else None,
            "timestamp": producer.last_timestamp,
            "coordinator_epoch": producer.coordinator_epoch,
        }
        shown = layout.format(
            producer_id,
            producer.epoch,
            producer.last_sequence,
            facts["last_offset"],
            "-" if producer.txn_first < 0 else producer.txn_first,
            moment(producer.last_timestamp),
        )
        yield Dumped("producer", shown, facts, counts=True)


def dump_leader_epochs(path: str) -> Iterator[Dumped]:
    raw = read_bytes(path)
    try:
        epochs = LeaderEpochs.load(raw, path)
    except StorageError as error:
        yield _damage(str(error))
        return
    yield Dumped("heading", f"{'Epoch':>10}  {'From offset':>20}")
    for epoch, start in epochs.entries:
        yield Dumped(
            "epoch", f"{epoch:>10}  {start:>20}", {"epoch": epoch, "start_offset": start}, counts=True
        )


def dump_checkpoint(path: str) -> Iterator[Dumped]:
    """`version`, `count`, then `topic partition offset` lines."""
    raw = read_bytes(path)
    try:
        lines = checkpoint_text.load(raw)
    except ValueError as error:
        yield _damage(f"{path} is damaged, or no checkpoint: {error}")
        return
    yield Dumped("heading", f"{'Offset':>20}  {'Partition':>9}  Topic")
    for line in lines:
        parts = line.split()
        if len(parts) != 3 or not parts[1].isdigit() or not parts[2].isdigit():
            yield _damage(f"'{line}' is not a topic, a partition and an offset")
            continue
        topic, partition, offset = parts[0], int(parts[1]), int(parts[2])
        facts = {"topic": topic, "partition": partition, "offset": offset}
        yield Dumped("entry", f"{offset:>20}  {partition:>9}  {topic}", facts, counts=True)


def _damage(why: str) -> Dumped:
    return Dumped("damage", why, {"why": why}, damage=True)
