"""Whether a produced batch may enter a log, and in which form: the rules of the topic's settings.

The usual batch is judged by its header and its CRC. Records are walked only where a setting asks for it:
compaction (keys), another compression, or `produce.validation=records`.
"""

from collections.abc import Iterable

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_TIMESTAMP, TimestampMs
from tidelog.storage.log_config import LogConfig
from tidelog.storage.schema_checks import SchemasNotChecked
from tidelog.wire.batch import (
    CONTROL,
    LOG_APPEND_TIME,
    BatchHeader,
    check_batches,
    crc_ok,
    iter_batches,
    patch_timestamp,
    read_header,
)
from tidelog.wire.record import Record, walk_records, write_batch


class RecordsRefused(KafkaError):
    """Some records of a batch are to blame, so that a producer can tell them from the others."""

    def __init__(
        self, code: ErrorCode, message: str, numbers: Iterable[int], reasons: Iterable[str] = ()
    ) -> None:
        """`reasons`: one for each number, or none where the message says all."""
        super().__init__(code, message)
        self.numbers = list(numbers)
        self.reasons = list(reasons)


class Admitted(msgspec.Struct, frozen=True, gc=False):
    records: memoryview
    """What was produced, or what the settings made of it. Writable."""
    batches: list[tuple[int, BatchHeader]]
    append_time_ms: TimestampMs
    """-1 where records keep the time of their creation."""


def admit(
    records: memoryview,
    config: LogConfig,
    *,
    now_ms: TimestampMs,
    is_internal_client: bool = False,
    schemas_checked: bool = False,
) -> Admitted:
    """`records` as they came (writable), or KafkaError. Internal clients may write control batches.

    Raises SchemasNotChecked where the caller has to check schemas first.
    """
    batches = _own_batches(records) if is_internal_client else check_batches(records)
    if len(batches) != 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"{len(batches)} batches for one partition in a request; one is allowed"
        )
    header = batches[0][1]
    if len(records) > config.batch_bytes_max:
        raise _too_large(len(records), config)
    if header.attributes & CONTROL:
        return Admitted(records, batches, NO_TIMESTAMP)
    if config.looks_inside and not schemas_checked and config.schema_checks is not None:
        raise SchemasNotChecked
    if config.looks_inside and (
        config.compact or config.validate_records or config.codec not in (None, header.codec)
    ):
        walked = walk_records(records)
        _check_records(walked, config, now_ms)
        records, header = _rewritten(records, header, walked, config, now_ms)
        batches = [(0, header)]
    if config.log_append_time:
        if not header.is_log_append_time:
            patch_timestamp(records, 0, header.attributes | LOG_APPEND_TIME, now_ms)
            header = read_header(records)
        return Admitted(records, [(0, header)], now_ms)
    oldest, newest = now_ms - config.timestamp_before_max_ms, now_ms + config.timestamp_after_max_ms
    if not (oldest <= header.base_timestamp <= newest and oldest <= header.max_timestamp <= newest):
        _check_header_times(records, header, config, now_ms)
    return Admitted(records, batches, NO_TIMESTAMP)


def _check_header_times(
    records: memoryview, header: BatchHeader, config: LogConfig, now_ms: TimestampMs
) -> None:
    """The header names a time that no record may have; which records do is looked up for the producer."""
    reasons = [_why_not_at(at, config, now_ms) for at in (header.base_timestamp, header.max_timestamp)]
    why = reasons[0] or reasons[1]
    if why is not None:
        _check_timestamps(walk_records(records), config, now_ms)
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, why)


def _own_batches(records: memoryview) -> list[tuple[int, BatchHeader]]:
    batches = list(iter_batches(records))
    if not batches or not all(crc_ok(records, position, header) for position, header in batches):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the broker's own batch does not fit its CRC")
    return batches


def _too_large(size: int, config: LogConfig) -> KafkaError:
    if size > config.max_message_bytes:
        return KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {size} bytes, max.message.bytes is {config.max_message_bytes}",
        )
    return KafkaError(
        ErrorCode.RECORD_LIST_TOO_LARGE,
        f"a batch of {size} bytes does not fit into a segment, segment.bytes is {config.segment_bytes}",
    )


def _why_not_at(timestamp: TimestampMs, config: LogConfig, now_ms: TimestampMs) -> str | None:
    """Why a record may not have this timestamp, or None."""
    age = now_ms - timestamp
    if timestamp != NO_TIMESTAMP and age > config.timestamp_before_max_ms:
        return (
            f"timestamp {timestamp} lies {age} ms in the past, "
            f"message.timestamp.before.max.ms is {config.timestamp_before_max_ms}"
        )
    if timestamp != NO_TIMESTAMP and -age > config.timestamp_after_max_ms:
        return (
            f"timestamp {timestamp} lies {-age} ms in the future, "
            f"message.timestamp.after.max.ms is {config.timestamp_after_max_ms}"
        )
    return None


def _check_records(records: list[Record], config: LogConfig, now_ms: TimestampMs) -> None:
    if config.compact:
        keyless = [number for number, record in enumerate(records) if record.key is None]
        if keyless:
            raise RecordsRefused(
                ErrorCode.INVALID_RECORD,
                f"record {keyless[0]} has no key, which a topic with cleanup.policy=compact needs",
                keyless,
            )
    if not config.log_append_time:
        _check_timestamps(records, config, now_ms)


def _check_timestamps(records: list[Record], config: LogConfig, now_ms: TimestampMs) -> None:
    bad = {
        number: why
        for number, record in enumerate(records)
        if (why := _why_not_at(record.timestamp, config, now_ms)) is not None
    }
    if bad:
        raise RecordsRefused(ErrorCode.INVALID_TIMESTAMP, next(iter(bad.values())), list(bad))


def _rewritten(
    records: memoryview, header: BatchHeader, walked: list[Record], config: LogConfig, now_ms: TimestampMs
) -> tuple[memoryview, BatchHeader]:
    """The batch in the compression that the topic wants, with the newest timestamp that it really has."""
    if config.codec is not None and config.codec != header.codec:
        records = memoryview(
            write_batch(
                walked,
                codec=config.codec,
                level=config.compression_level,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                base_sequence=header.base_sequence,
                transactional=header.is_transactional,
                log_append_time=now_ms if config.log_append_time else None,
            )
        )
        if len(records) > config.batch_bytes_max:
            raise _too_large(len(records), config)
    else:
        newest = max(record.timestamp for record in walked)
        if newest != header.max_timestamp:
            patch_timestamp(records, 0, header.attributes, newest)
    return records, read_header(records)
