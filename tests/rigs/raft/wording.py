"""Raft's messages and states in few words, for transcripts."""

from tidelog.raft.core import Raft
from tidelog.raft.entries import NO_TERM, Configuration, Entry, EntryKind, Voter
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
)


def entry_words(entry: Entry) -> str:
    if entry.kind is EntryKind.CONFIG:
        return f"{entry.term}.voters({voters_words(Configuration.decode(entry.data))})"
    text = entry.data.decode(errors="replace")
    if len(text) > 20:
        text = f"{len(text)} bytes"
    return f"{entry.term}.{'noop' if entry.kind is EntryKind.NOOP else text}"


def voters_words(configuration: Configuration) -> str:
    return " ".join(_voter_words(voter) for voter in configuration.voters)


def _voter_words(voter: Voter) -> str:
    """`2` is any disk of node 2, `2a` its first disk, `2b` the one it got after that was lost."""
    if voter.vacant:
        return f"{voter.id}-vacant"
    return f"{voter.id}" if voter.storage is None else f"{voter.id}{disk_letter(voter.storage)}"


def disk_letter(storage: bytes) -> str:
    return chr(ord("a") + storage[1])


def message_words(message: AnyMessage) -> str:
    return f"t{message.term} {_body_words(message)}"


def _body_words(message: AnyMessage) -> str:
    match message:
        case PreVote():
            return f"pre-vote? last {message.last_term}.{message.last_index}"
        case RequestVote():
            return f"vote? last {message.last_term}.{message.last_index}" + " (transfer)" * message.transfer
        case PreVoteResponse():
            return f"pre-vote {'yes' if message.granted else 'no'}"
        case RequestVoteResponse():
            return f"vote {'yes' if message.granted else 'no'}"
        case AppendEntries():
            entries = " ".join(entry_words(entry) for entry in message.entries)
            after = f"after {message.previous_term}.{message.previous_index}"
            return f"append {after} commit {message.commit} [{entries}]"
        case AppendEntriesResponse() if message.accepted:
            return f"has {message.index}"
        case AppendEntriesResponse():
            there = "nothing" if message.conflict_term == NO_TERM else f"term {message.conflict_term}"
            return f"refuses {message.index}: {there} from {message.conflict_index}"
        case InstallSnapshot():
            part = f"{message.position}+{len(message.data)} of {message.total}"
            return f"snapshot {message.index_term}.{message.index} bytes {part}"
        case InstallSnapshotResponse():
            return f"snapshot {message.index} received {message.received}"
        case TimeoutNow():
            return "timeout-now"
        case FindLeader():
            return "hello" + " (forwarded)" * message.is_forwarded


def standing(raft: Raft) -> str:
    return f"{raft.role.value} in term {raft.term}"
