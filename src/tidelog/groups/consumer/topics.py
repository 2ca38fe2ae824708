"""The topics that groups can read, and a hash that tells when those of a group have changed."""

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple, TypeAlias

from tidelog.base.ids import Uuid

_SIGNED = Struct(">q")

MaySee: TypeAlias = Callable[[str], bool]
"""Whether the client of a request may see the topic with this name."""


class TopicInfo(NamedTuple):
    topic_id: Uuid
    partitions: int


class Topics:
    """All topics at one moment. `version` rises with every change, and is stored beside patterns."""

    __slots__ = ("by_name", "names_by_id", "version")

    def __init__(self, by_name: Mapping[str, TopicInfo] | None = None, version: int = 0) -> None:
        self.by_name = dict(by_name or {})
        self.names_by_id = {info.topic_id: name for name, info in self.by_name.items()}
        self.version = version

    def hash_of(self, names: Iterable[str]) -> int:
        """The same on every broker and after every restart; topics that do not exist count for nothing."""
        digest = blake2b(digest_size=8)
        for name in sorted(self.by_name.keys() & names):  # members may name any number of others
            info = self.by_name[name]
            digest.update(b"%s\x00%s%d\x00" % (name.encode(), info.topic_id, info.partitions))
        number: int = _SIGNED.unpack(digest.digest())[0]
        return number

    def changed_names(self, other: "Topics") -> set[str]:
        """The topics that are not the same in both."""
        mine, theirs = self.by_name, other.by_name
        return {name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)}
