"""Sequence numbers that a client gave to records of two transactions.

librdkafka 2.16 drops unacknowledged records when it aborts and, as long as its epoch stays (KIP-98), gives
their numbers to records of the next transaction. Where the first ones had been written, the second look like
a retry: they would be acknowledged and never written. Refused, the producer fails, and its heir takes a new
epoch, as it does where numbers are used again for fewer or more records.

A true retry is over before its transaction ends, so only batches of earlier transactions are looked at. If
one comes all the same it has the CRC of the batch in the log, which covers all but offset and leader epoch.
"""

from tidelog.storage.producers.producers import Duplicate, out_of_order
from tidelog.wire.batch import DELETE_HORIZON, LOG_APPEND_TIME, BatchHeader


def check_reuse(sent: BatchHeader, duplicate: Duplicate, written: BatchHeader | None) -> None:
    """KafkaError if `sent` has the sequence numbers of the batch in the log, `written`, and other records."""
    if written is None or not _is_as_sent(written, duplicate, sent) or written.crc == sent.crc:
        return
    raise out_of_order(
        sent,
        f"other records have had it, at offset {duplicate.base}, in a transaction that is over. "
        "The client used it again instead of taking a new epoch",
    )


def _is_as_sent(written: BatchHeader, duplicate: Duplicate, sent: BatchHeader) -> bool:
    """Not where a broker gave it a CRC of its own: by the time of the append, or by compaction."""
    return (
        written.base_offset == duplicate.base
        and written.last_offset == duplicate.last
        and written.record_count == sent.record_count
        and not (written.attributes | sent.attributes) & (LOG_APPEND_TIME | DELETE_HORIZON)
    )
