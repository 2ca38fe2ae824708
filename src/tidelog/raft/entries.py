"""The replicated log: entries, and the configuration that names the voters.

Indexes begin at 0, as offsets do, so the last index of an empty log is NO_INDEX, and its last term NO_TERM.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Annotated, TypeAlias

import msgspec

from tidelog.base.errors import ProtocolError
from tidelog.base.ids import NodeId, Uuid, uuid_parse, uuid_text

Term: TypeAlias = int
Index: TypeAlias = int

NO_INDEX: Index = -1
NO_TERM: Term = 0

TERM_MAX: Term = 2**31 - 2
"""A term is the leader epoch of a record batch, which has 32 bits."""
INDEX_MAX: Index = 2**53
VOTERS_MAX = 63
"""Far more than a quorum should have; a bound for what a peer may send."""

WireTerm: TypeAlias = Annotated[int, msgspec.Meta(ge=NO_TERM, le=TERM_MAX)]
WireIndex: TypeAlias = Annotated[int, msgspec.Meta(ge=NO_INDEX, le=INDEX_MAX)]
WireNodeId: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
WireAddress: TypeAlias = Annotated[str, msgspec.Meta(max_length=512)]


class EntryKind(IntEnum):
    NOOP = 0
    """A new leader's first entry: to commit it is to commit everything before it."""
    DATA = 1
    CONFIG = 2
    """Holds an encoded `Configuration`, in force from the moment it is appended."""


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Its index is its place in the log. Two entries with the same index and term are the same entry."""

    term: WireTerm
    kind: EntryKind
    data: bytes = b""


class Voter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seat in the quorum, held by one disk of one node.

    Promises (votes, acknowledgements) live on a disk. So `storage` pins whose promises count; None accepts
    any disk, until the first leader has seen it. The seat of a voter that came back with another disk is
    `vacant`: it does not count in any majority until the new disk has caught up and is given the seat.
    """

    id: NodeId
    address: str
    storage: Uuid | None = None
    vacant: bool = False

    @property
    def is_pinned(self) -> bool:
        return self.storage is not None

    def is_held_by(self, storage: Uuid) -> bool:
        return not self.vacant and self.storage in (None, storage)


class Configuration(msgspec.Struct, frozen=True):
    """The voters. `counted` leaves out vacant seats; all majorities are over it."""

    voters: tuple[Voter, ...]

    @property
    def counted(self) -> tuple[Voter, ...]:
        return tuple(voter for voter in self.voters if not voter.vacant)

    @property
    def is_pinned(self) -> bool:
        return all(voter.is_pinned for voter in self.counted)

    def find(self, node_id: NodeId) -> Voter | None:
        return next((voter for voter in self.voters if voter.id == node_id), None)

    def with_voter(self, voter: Voter) -> "Configuration":
        """Puts the voter in the place of the one with its id, or at the end."""
        if self.find(voter.id) is None:
            return Configuration((*self.voters, voter))
        return Configuration(tuple(voter if old.id == voter.id else old for old in self.voters))

    def without(self, node_id: NodeId) -> "Configuration":
        return Configuration(tuple(voter for voter in self.voters if voter.id != node_id))

    def encode(self) -> bytes:
        return msgspec.json.encode(_StoredConfiguration([_stored(voter) for voter in self.voters]))

    @staticmethod
    def decode(data: bytes) -> "Configuration":
        """ProtocolError on anything that `encode` would not have written."""
        try:
            stored = _DECODER.decode(data)
            voters = tuple(
                Voter(
                    one.id, one.address, None if one.storage is None else uuid_parse(one.storage), one.vacant
                )
                for one in stored.voters
            )
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ProtocolError(f"malformed quorum configuration: {error}") from error
        fault = _fault(voters)
        if fault is not None:
            raise ProtocolError(f"malformed quorum configuration: {fault}")
        return Configuration(voters)


class _StoredVoter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    id: WireNodeId
    address: WireAddress
    storage: str | None
    vacant: bool = False


class _StoredConfiguration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    voters: list[_StoredVoter]


_DECODER = msgspec.json.Decoder(_StoredConfiguration)


def _stored(voter: Voter) -> _StoredVoter:
    storage = None if voter.storage is None else uuid_text(voter.storage)
    return _StoredVoter(voter.id, voter.address, storage, voter.vacant)


def _loaded(voter: _StoredVoter) -> Voter:
    storage = None if voter.storage is None else uuid_parse(voter.storage)
    return Voter(voter.id, voter.address, storage, voter.vacant)


def _fault(voters: Iterable[Voter]) -> str | None:
    seats = list(voters)
    if not 1 <= len(seats) <= VOTERS_MAX:
        return f"{len(seats)} voters, from 1 to {VOTERS_MAX} are possible"
    if len({voter.id for voter in seats}) != len(seats):
        return "one node has two seats"
    if all(voter.vacant for voter in seats):
        return "every seat is vacant"
    return None
