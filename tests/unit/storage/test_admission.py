import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.admission import admit
from tidelog.storage.log_config import LogConfig
from tidelog.wire.batch import check_batches, crc_ok, patch_crc, read_header
from tidelog.wire.compression import Codec
from tidelog.wire.record import ControlType, Record, read_records, write_batch, write_control_batch

NOW = 1_700_000_000_000
PLAIN = LogConfig()


def batch(*timestamps: int, key: bytes | None = b"key", **options: object) -> memoryview:
    records = [Record(n, timestamp, key, b"value" * 20) for n, timestamp in enumerate(timestamps or (NOW,))]
    return memoryview(write_batch(records, **options))  # type: ignore[arg-type]


def refusal(records: memoryview, config: LogConfig = PLAIN) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        admit(records, config, now_ms=NOW)
    return caught.value


def test_a_good_batch_is_taken_as_it_is() -> None:
    records = batch(codec=Codec.LZ4)
    before = bytes(records)
    admitted = admit(records, PLAIN, now_ms=NOW)
    assert admitted.records is records
    assert bytes(records) == before
    assert admitted.batches == check_batches(records)
    assert admitted.append_time_ms == -1


def test_one_batch_to_a_partition() -> None:
    two = memoryview(bytearray(bytes(batch()) * 2))
    assert refusal(two).code == ErrorCode.INVALID_RECORD
    assert "2 batches" in refusal(two).message
    assert refusal(memoryview(bytearray())).code == ErrorCode.INVALID_RECORD


def test_a_wrong_crc_is_refused() -> None:
    records = batch()
    records[-1] ^= 1
    assert refusal(records).code == ErrorCode.CORRUPT_MESSAGE


def test_sizes_are_limited_and_the_limit_is_named() -> None:
    records = batch()
    too_large = refusal(records, LogConfig(max_message_bytes=len(records) - 1))
    assert too_large.code == ErrorCode.MESSAGE_TOO_LARGE
    assert f"{len(records)} bytes, max.message.bytes is {len(records) - 1}" in too_large.message
    too_wide = refusal(records, LogConfig(segment_bytes=len(records) - 1))
    assert too_wide.code == ErrorCode.RECORD_LIST_TOO_LARGE
    admit(records, LogConfig(max_message_bytes=len(records), segment_bytes=len(records)), now_ms=NOW)


class TestTimestamps:
    CONFIG = LogConfig(timestamp_before_max_ms=1_000, timestamp_after_max_ms=500)

    @pytest.mark.parametrize("timestamp", [NOW - 1_000, NOW + 500, -1])
    def test_within_the_limits(self, timestamp: int) -> None:
        admit(batch(timestamp), self.CONFIG, now_ms=NOW)

    def test_too_far_in_the_past(self) -> None:
        error = refusal(batch(NOW - 1_001, NOW), self.CONFIG)
        assert error.code == ErrorCode.INVALID_TIMESTAMP
        assert "1001 ms in the past, message.timestamp.before.max.ms is 1000" in error.message

    def test_too_far_in_the_future(self) -> None:
        error = refusal(batch(NOW, NOW + 501), self.CONFIG)
        assert error.code == ErrorCode.INVALID_TIMESTAMP
        assert "501 ms in the future, message.timestamp.after.max.ms is 500" in error.message

    def test_log_append_time_replaces_them_and_asks_for_no_limit(self) -> None:
        config = LogConfig(log_append_time=True, timestamp_before_max_ms=1)
        admitted = admit(batch(5, 7), config, now_ms=NOW)
        header = admitted.batches[0][1]
        assert (header.is_log_append_time, header.max_timestamp) == (True, NOW)
        assert crc_ok(admitted.records, 0, header)
        assert admitted.append_time_ms == NOW
        assert [record.timestamp for record in read_records(admitted.records)] == [NOW, NOW]

    def test_a_record_in_the_middle_is_seen_only_where_records_are_walked(self) -> None:
        records = batch(NOW, NOW - 5_000, NOW)
        admit(records, self.CONFIG, now_ms=NOW)
        strict = LogConfig(timestamp_before_max_ms=1_000, validate_records=True)
        assert refusal(records, strict).code == ErrorCode.INVALID_TIMESTAMP


class TestCompression:
    @pytest.mark.parametrize("target", list(Codec))
    @pytest.mark.parametrize("source", list(Codec))
    def test_is_what_the_topic_wants(self, source: Codec, target: Codec) -> None:
        records = batch(
            NOW, NOW + 5, codec=source, producer_id=7, producer_epoch=1, base_sequence=3, transactional=True
        )
        wanted = read_records(records)
        admitted = admit(records, LogConfig(codec=target), now_ms=NOW)
        header = admitted.batches[0][1]
        assert header.codec == target
        assert crc_ok(admitted.records, 0, header)
        assert read_records(admitted.records) == wanted
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 3)
        assert header.is_transactional
        assert header.max_timestamp == NOW + 5
        if source == target:
            assert admitted.records is records

    def test_together_with_log_append_time(self) -> None:
        config = LogConfig(codec=Codec.GZIP, log_append_time=True)
        admitted = admit(batch(5), config, now_ms=NOW)
        header = admitted.batches[0][1]
        assert (header.codec, header.is_log_append_time, header.max_timestamp) == (Codec.GZIP, True, NOW)
        assert crc_ok(admitted.records, 0, header)

    def test_a_batch_that_grows_beyond_the_limit_is_refused(self) -> None:
        records = batch(codec=Codec.GZIP)
        config = LogConfig(codec=Codec.NONE, max_message_bytes=len(records))
        assert refusal(records, config).code == ErrorCode.MESSAGE_TOO_LARGE

    def test_a_bad_compressed_body_is_refused_where_it_is_opened(self) -> None:
        records = batch(codec=Codec.ZSTD)
        records[70:80] = bytes(10)
        patch_crc(records, 0)
        admit(records, PLAIN, now_ms=NOW)
        for config in (LogConfig(codec=Codec.LZ4), LogConfig(validate_records=True)):
            assert refusal(records, config).code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)


def test_compacted_topics_need_keys() -> None:
    config = LogConfig(compact=True)
    admit(batch(), config, now_ms=NOW)
    error = refusal(batch(NOW, NOW, key=None, codec=Codec.SNAPPY), config)
    assert error.code == ErrorCode.INVALID_RECORD
    assert "record 0 has no key" in error.message


def test_a_record_count_that_lies_is_seen_only_where_records_are_walked() -> None:
    records = batch(NOW, NOW)
    records[23:27] = (2).to_bytes(4, "big")
    records[57:61] = (3).to_bytes(4, "big")
    patch_crc(records, 0)
    admit(records, PLAIN, now_ms=NOW)
    assert refusal(records, LogConfig(validate_records=True)).code == ErrorCode.INVALID_RECORD


def test_a_newest_timestamp_that_lies_is_put_right_where_records_are_walked() -> None:
    records = batch(NOW, NOW + 3)
    records[35:43] = (NOW + 9).to_bytes(8, "big")
    patch_crc(records, 0)
    admitted = admit(records, LogConfig(validate_records=True), now_ms=NOW)
    assert admitted.batches[0][1].max_timestamp == NOW + 3
    assert crc_ok(admitted.records, 0, read_header(admitted.records))


def test_control_batches_come_only_from_the_broker_itself() -> None:
    marker = memoryview(
        write_control_batch(
            ControlType.COMMIT, producer_id=7, producer_epoch=0, coordinator_epoch=1, timestamp=NOW
        )
    )
    assert refusal(marker).code == ErrorCode.INVALID_RECORD
    admitted = admit(marker, LogConfig(codec=Codec.GZIP), now_ms=NOW, is_internal_client=True)
    assert admitted.records is marker
    marker[-1] ^= 1
    with pytest.raises(KafkaError):
        admit(marker, PLAIN, now_ms=NOW, is_internal_client=True)
