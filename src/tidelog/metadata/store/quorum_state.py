"""The file `quorum-state`: the term and the vote that a node of the metadata quorum must never forget.

JSON, replaced as a whole. A flipped digit in it would be another vote, so it carries a checksum of itself.
A file that a person wrote may leave the checksum out.
"""

import msgspec
from crc32c import crc32c

from tidelog.base.errors import StorageError
from tidelog.base.ids import NodeId
from tidelog.base.ports import Disk, read_file, replace_file
from tidelog.raft.ready import HardState

QUORUM_STATE = "quorum-state"
VERSION = 1


class StoredState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    term: int
    voted_for: NodeId | None = None
    crc32c: str | None = None


_decoder = msgspec.json.Decoder(StoredState)


def encode_state(state: HardState) -> bytes:
    stored = StoredState(VERSION, state.term, state.voted_for)
    return msgspec.json.encode(msgspec.structs.replace(stored, crc32c=_checksum(stored))) + b"\n"


def decode_state(data: bytes) -> HardState:
    """StorageError, to which the caller adds the file and what to do."""
    try:
        stored = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StorageError(f"it is not the expected JSON ({error})") from error
    if stored.version != VERSION:
        raise StorageError(f"this version of Tidelog does not know its version {stored.version}")
    if stored.crc32c is not None and stored.crc32c != _checksum(stored):
        raise StorageError("its checksum does not fit")
    if stored.term < 0:
        raise StorageError(f"its term is {stored.term}")
    return HardState(stored.term, stored.voted_for)


def _checksum(stored: StoredState) -> str:
    return f"{crc32c(msgspec.json.encode(msgspec.structs.replace(stored, crc32c=None))):08x}"


def write_state(disk: Disk, directory: str, state: HardState) -> None:
    replace_file(disk, f"{directory}/{QUORUM_STATE}", encode_state(state))


def read_state(disk: Disk, directory: str) -> HardState | None:
    """None where there is no such file."""
    path = f"{directory}/{QUORUM_STATE}"
    data = read_file(disk, path)
    if data is None:
        return None
    try:
        return decode_state(data)
    except StorageError as error:
        raise StorageError(f"{path} at 0: {error}. {REMEDY}") from error


def missing_state(directory: str) -> StorageError:
    return StorageError(f"{directory}/{QUORUM_STATE} is missing. {REMEDY}")


REMEDY = (
    "It holds this broker's vote, and a broker that forgets its vote could vote twice. Restore it from a "
    "backup. In a cluster whose other voters are up, move the whole log dir away instead: the broker "
    "then comes back empty, as another disk, and fetches everything from them. Where this broker is the only "
    'voter, write the file anew: {"version":1,"term":TERM,"voted_for":null} with the newest term that '
    "`tidelog log dump` shows of the log beside it, or a higher one."
)
