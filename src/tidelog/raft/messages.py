"""The messages between nodes and their encoding: msgpack arrays whose first element names the message.

Every message carries its sender, the sender's disk (see `entries.Voter`) and the sender's term.
"""

from typing import Annotated, TypeAlias

import msgspec

from tidelog.base.errors import ProtocolError
from tidelog.base.ids import NodeId
from tidelog.raft.entries import (
    INDEX_MAX,
    NO_TERM,
    Configuration,
    Entry,
    EntryKind,
    WireAddress,
    WireIndex,
    WireNodeId,
    WireTerm,
)

MESSAGE_BYTES_MAX = 128 * 2**20

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=INDEX_MAX)]
_Storage: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    sender: WireNodeId
    storage: _Storage
    term: WireTerm


class Request(Message, frozen=True):
    """Expects a response, and carries the sender's address: stored addresses may be out of date."""

    address: WireAddress


class PreVote(Request, frozen=True, tag="pre-vote"):
    """Would the receiver vote for the sender in the term after `term`? Sent first, so that a node that was
    isolated for a while does not disrupt a working leader when it returns with a higher term."""

    last_index: WireIndex
    last_term: WireTerm


class PreVoteResponse(Message, frozen=True, tag="pre-vote-answer"):
    granted: bool


class RequestVote(Request, frozen=True, tag="vote"):
    """Asks for a vote in `term`. `transfer`: the leader itself started this election, so it is not
    protected."""

    last_index: WireIndex
    last_term: WireTerm
    transfer: bool = False


class RequestVoteResponse(Message, frozen=True, tag="vote-answer"):
    granted: bool


class AppendEntries(Request, frozen=True, tag="append"):
    """Entries that follow `previous_index`; with none of them it is a heartbeat.

    `round` comes back in the answer, so that the leader knows it still led when it sent this.
    """

    previous_index: WireIndex
    previous_term: WireTerm
    commit: WireIndex
    round: _Count
    entries: tuple[Entry, ...] = ()


class AppendEntriesResponse(Message, frozen=True, tag="append-answer"):
    """Accepted: the follower's durable log matches the leader's up to `index`.

    Refused: its entry at `index` (the leader's previous_index) is another one or missing. Then
    `conflict_term` is the term it has there and `conflict_index` the first index of that term;
    with nothing there, NO_TERM and the end of its log.
    """

    round: _Count
    accepted: bool
    index: WireIndex
    conflict_index: WireIndex = 0
    conflict_term: WireTerm = NO_TERM


class InstallSnapshot(Request, frozen=True, tag="snapshot-chunk"):
    """A piece, from byte `position`, of the `total` bytes that stand for all entries up to `index`."""

    index: WireIndex
    index_term: WireTerm
    configuration: bytes
    position: _Count
    total: _Count
    round: _Count
    data: bytes


class InstallSnapshotResponse(Message, frozen=True, tag="snapshot-answer"):
    """`received` bytes of the snapshot at `index` are here: the position of the next chunk."""

    index: WireIndex
    received: _Count
    round: _Count


class TimeoutNow(Message, frozen=True, tag="timeout-now"):
    """The leader asks a voter that has the whole log to start an election at once."""


class FindLeader(Request, frozen=True, tag="hello"):
    """A node without a leader announces its address, so that the leader starts to replicate to it."""

    is_forwarded: bool = False
    """A voter that does not lead has forwarded it to the leader."""


AnyMessage: TypeAlias = (
    PreVote
    | PreVoteResponse
    | RequestVote
    | RequestVoteResponse
    | AppendEntries
    | AppendEntriesResponse
    | InstallSnapshot
    | InstallSnapshotResponse
    | TimeoutNow
    | FindLeader
)
Addressed: TypeAlias = tuple[NodeId, AnyMessage]

_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[AnyMessage] = msgspec.msgpack.Decoder(AnyMessage)


def encode(message: AnyMessage) -> bytes:
    return _ENCODER.encode(message)


def decode(data: bytes | bytearray | memoryview) -> AnyMessage:
    """ProtocolError on anything malformed. What it lets through has numbers within their bounds, and
    configurations that can be read."""
    if len(data) > MESSAGE_BYTES_MAX:
        raise ProtocolError(f"raft message of {len(data)} bytes, limit {MESSAGE_BYTES_MAX}")
    try:
        message = _DECODER.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ProtocolError(f"malformed raft message: {error}") from error
    if isinstance(message, AppendEntries):
        for entry in message.entries:
            if entry.kind is EntryKind.CONFIG:
                Configuration.decode(entry.data)
    elif isinstance(message, InstallSnapshot):
        Configuration.decode(message.configuration)
        if message.position + len(message.data) > message.total:
            raise ProtocolError("malformed raft message: a chunk ends beyond its snapshot")
    return message
