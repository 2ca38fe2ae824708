"""What a DATA entry of the metadata log holds: the records of one decision, as a JSON array.

An entry is checked as a whole: all of its records hold, or none.
"""

from collections.abc import Iterable, Iterator

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.metadata.image.records import Record, decode_record, encode_record

DECISION_BYTES_MAX = 32 << 20
"""The records of one decision; a request that asks for more must be split."""

_array = msgspec.json.Decoder(list[msgspec.Raw])


def encode_decision(records: Iterable[Record]) -> bytes:
    """KafkaError where the records are too many for one entry."""
    data = b"[" + b",".join(map(encode_record, records)) + b"]"
    if len(data) > DECISION_BYTES_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"The change takes {len(data)} bytes of metadata, one request may take {DECISION_BYTES_MAX}. "
            "Split the request.",
        )
    return data


def decode_decision(data: bytes) -> list[Record]:
    """StorageError, to which the caller adds the place."""
    return list(decoded_records(data))


def decoded_records(data: bytes) -> Iterator[Record]:
    """As `decode_decision`, one record after the other as they are taken."""
    try:
        parts = _array.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StorageError(f"not an array of metadata records: {error}") from error
    for part in parts:
        yield decode_record(bytes(part))
