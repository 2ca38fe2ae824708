"""The directory of a metadata quorum's node, and what is written into it."""

from pathlib import Path

from tidelog.base.disk import PosixDisk
from tidelog.base.ids import uuid_text
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import TopicCreated
from tidelog.metadata.store.entries.data import encode_decision
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.entries import Configuration, Entry, EntryKind, Voter
from tidelog.raft.ready import HardState, Ready

NOW = 1_700_000_000_000
VOTERS = Configuration((Voter(1, "a:9092", b"s" * 16), Voter(2, "b:9092")))


def topic(number):
    return TopicCreated(f"topic-{number}", uuid_text((number + 1).to_bytes(16, "big")))


def data(term, number):
    return Entry(term, EntryKind.DATA, encode_decision([topic(number)]))


def noop(term):
    return Entry(term, EntryKind.NOOP)


class MetadataDir:
    """A store on a real disk that can be opened again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> QuorumStore:
        return QuorumStore.open(PosixDisk(), str(self.path))

    def names(self, suffix):
        return [path.name for path in self.files(suffix)]

    def files(self, suffix):
        return sorted(self.path.glob(f"*{suffix}"))


def write(store, **wanted):
    ready = Ready(**wanted)
    begun = store.begin(ready, NOW)
    begun.run()
    store.finish(begun)
    return begun


def append(store, *entries):
    write(store, first_index=store.last_index + 1, entries=list(entries))


def fill(store, count, term=1):
    first = store.last_index + 1
    if store.hard_state.term < term:
        write(store, hard_state=HardState(term))
    for number in range(first, first + count):
        append(store, data(term, number))


def image_of(count):
    return advance(ClusterImage(), [topic(number) for number in range(count)]).after


def take_snapshot(store, index, term=1, image=None):
    begun = store.begin_snapshot(image_of(index + 1) if image is None else image, index, term, VOTERS, NOW)
    begun.run()
    assert store.finish_snapshot(begun)
