"""Messages survive their bytes; bytes of a broken or hostile peer raise ProtocolError and cost no memory."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.base.errors import ProtocolError
from tidelog.raft.entries import TERM_MAX, Configuration, Entry, EntryKind, Voter
from tidelog.raft.messages import (
    AnyMessage,
    AppendEntries,
    AppendEntriesResponse,
    FindLeader,
    InstallSnapshot,
    InstallSnapshotResponse,
    PreVote,
    PreVoteResponse,
    RequestVote,
    RequestVoteResponse,
    TimeoutNow,
    decode,
    encode,
)

ME = (7, bytes(range(16)), 5)
ASKING = (*ME, "host:9092")
CONFIGURATION = Configuration((Voter(1, "a:1"),)).encode()
MESSAGES: list[AnyMessage] = [
    PreVote(*ASKING, 10, 4),
    PreVoteResponse(*ME, True),
    RequestVote(*ASKING, -1, 0, True),
    RequestVoteResponse(*ME, False),
    AppendEntries(
        *ASKING, 9, 4, 8, 3, (Entry(5, EntryKind.DATA, b"x" * 300), Entry(5, EntryKind.CONFIG, CONFIGURATION))
    ),
    AppendEntriesResponse(*ME, 3, False, 9, 4, 2),
    InstallSnapshot(*ASKING, 9, 4, CONFIGURATION, 0, 3, 1, b"abc"),
    InstallSnapshotResponse(*ME, 9, 3, 1),
    TimeoutNow(*ME),
    FindLeader(*ASKING, True),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_survives_its_bytes(message: AnyMessage) -> None:
    assert decode(encode(message)) == message
    assert decode(memoryview(encode(message))) == message


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_truncated_message_or_one_with_more_behind_it_is_refused(message: AnyMessage) -> None:
    data = encode(message)
    for length in range(len(data)):
        with pytest.raises(ProtocolError):
            decode(data[:length])
    with pytest.raises(ProtocolError):
        decode(data + b"\x00")


@settings(max_examples=200)
@given(st.sampled_from(MESSAGES), st.integers(0, 400), st.integers(0, 255))
def test_a_flipped_byte_never_raises_anything_else(message: AnyMessage, place: int, value: int) -> None:
    data = bytearray(encode(message))
    data[place % len(data)] = value
    try:
        decode(data)
    except ProtocolError:
        pass


@pytest.mark.parametrize(
    "message",
    [
        ["append", -1, bytes(16), 5, "a:1", 0, 0, 0, 0, []],
        ["append", 1, bytes(15), 5, "a:1", 0, 0, 0, 0, []],
        ["append", 1, bytes(16), TERM_MAX + 1, "a:1", 0, 0, 0, 0, []],
        ["append", 1, bytes(16), 5, "a" * 513, 0, 0, 0, 0, []],
        ["append", 1, bytes(16), 5, "a:1", -2, 0, 0, 0, []],
        ["append", 1, bytes(16), 5, "a:1", 2**60, 0, 0, 0, []],
        ["append", 1, bytes(16), 5, "a:1", 0, 0, 0, 0, [[5, 9, b""]]],
        ["append", 1, bytes(16), 5, "a:1", 0, 0, 0, 0, [[5, 2, b"not a configuration"]]],
        ["snapshot-chunk", 1, bytes(16), 5, "a:1", 9, 4, CONFIGURATION, 2, 3, 0, b"too long"],
        ["snapshot-chunk", 1, bytes(16), 5, "a:1", 9, 4, b"", 0, 3, 0, b"abc"],
        ["unknown", 1, bytes(16), 5],
        {"append": 1},
        [],
    ],
)
def test_numbers_beyond_their_bounds_are_refused(message: object) -> None:
    with pytest.raises(ProtocolError, match="malformed"):
        decode(msgspec.msgpack.encode(message))


def test_announced_lengths_cost_no_memory() -> None:
    with pytest.raises(ProtocolError):
        decode(b"\x9a\xa6append\x01\xc4\x10" + bytes(16) + b"\x05\xa3a:1\x00\x00\x00\x00\xdd\xff\xff\xff\xff")


def test_a_message_larger_than_any_frame_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.raft.messages.MESSAGE_BYTES_MAX", 10)
    with pytest.raises(ProtocolError, match="limit 10"):
        decode(encode(MESSAGES[0]))
