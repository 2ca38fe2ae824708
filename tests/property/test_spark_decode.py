"""Columns decoded by numpy say what the plain reader says; bytes that lie are refused and nothing else."""

import struct
from importlib.util import find_spec
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidelog.base.errors import KafkaError
from tidelog.spark.records.batch_decoding import COLUMNS, Decoded, decode
from tidelog.spark.records.engines import NUMBA, NUMPY
from tidelog.wire.batch import patch_crc
from tidelog.wire.compression import Codec, compress
from tidelog.wire.record import ControlType, Headers, Record, read_records, write_batch, write_control_batch

EVERYTHING = (*COLUMNS, "headers")
codecs = st.sampled_from(Codec)


class Made:
    """What Hypothesis shows of a failure must stay readable, so this has no long repr."""

    def __init__(self, raw: bytes, seen: list[Record], kinds: list[int]) -> None:
        self.raw, self.seen, self.kinds = raw, seen, kinds


@st.composite
def batches(draw: st.DrawFn) -> "Made":
    """(bytes, what an application sees of them, the kind of each timestamp).

    Hypothesis picks the shape; a seeded generator fills it, since drawing each record would take minutes.
    """
    rng = Random(draw(st.integers(0, 2**32)))
    data, seen, kinds = bytearray(), [], []
    base = draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(1, 4))):
        gap_max, time_max = (
            draw(st.sampled_from([1, 3, 9000])),
            draw(st.sampled_from([0, 9000, 2**33, 2**47])),
        )
        are_alike, header_odds = draw(st.booleans()), draw(st.sampled_from([0, 0.1, 1]))
        offset, records = base + draw(st.integers(0, 2)), []
        content = some_content(rng, header_odds)
        for _ in range(draw(st.integers(0, 90))):
            content = content if are_alike else some_content(rng, header_odds)
            records.append(Record(offset, rng.randint(-1, time_max), *content))
            offset += rng.randint(1, gap_max)
        append_time = draw(st.none() | st.integers(0, 2**47))
        data += write_batch(
            records,
            base_offset=base,
            codec=draw(codecs),
            log_append_time=append_time,
            last_offset_delta=offset - base,
            delete_horizon_ms=draw(st.none() | st.integers(0, 2**47)),
        )
        if append_time is not None:
            records = [record._replace(timestamp=append_time) for record in records]
        seen += records
        kinds += [int(append_time is not None)] * len(records)
        base = offset + 1 + draw(st.integers(0, 3))
    return Made(bytes(data), seen, kinds)


def some_content(rng: Random, header_odds: float) -> tuple[bytes | None, bytes | None, Headers]:
    def maybe_bytes() -> bytes | None:
        return rng.randbytes(rng.choice((0, 1, 9, 63, 64, 70, 200))) if rng.random() < 0.9 else None

    count = rng.choice((1, 2, 12)) if rng.random() < header_odds else 0
    return (
        maybe_bytes(),
        maybe_bytes(),
        [(rng.choice(("", "h", "\u20ac" * 30)), maybe_bytes()) for _ in range(count)],
    )


def rows(parts: list[Decoded]) -> list[Record]:
    found = []
    for part in parts:
        columns = {name: column.to_pylist() for name, column in part.columns.items() if name != "timestamp"}
        times = part.columns["timestamp"].cast("int64").to_pylist()
        assert all(len(column) == part.rows for column in columns.values())
        for at in range(part.rows):
            headers = [(each["key"], each["value"]) for each in columns["headers"][at] or []]
            assert columns["headers"][at] != [], "no headers are null, as Spark has it"
            assert times[at] % 1000 == 0
            found.append(
                Record(
                    columns["offset"][at],
                    times[at] // 1000,
                    columns["key"][at],
                    columns["value"][at],
                    headers,
                )
            )
    return found


@pytest.fixture(params=[NUMPY, NUMBA])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == NUMBA:
        pytest.importorskip("numba")
    return request.param


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches(), st.data())
def test_decodes_what_the_plain_reader_reads(engine, made, data) -> None:
    raw, seen, kinds = made.raw, made.seen, made.kinds
    offsets = [record.offset for record in seen] or [0]
    start = data.draw(st.integers(offsets[0] - 3, offsets[-1] + 3))
    end = data.draw(st.integers(start, offsets[-1] + 5) | st.just(2**62))
    limit = data.draw(st.sampled_from([1, 500, 1 << 24]))
    parts = list(decode(raw, start, end, columns=EVERYTHING, group_bytes_max=limit, engine=engine))
    wanted = [record for record in seen if start <= record.offset < end]
    assert rows(parts) == wanted
    found_kinds = [kind for part in parts for kind in part.columns["timestampType"].to_pylist()]
    assert found_kinds == [
        kind for record, kind in zip(seen, kinds, strict=True) if start <= record.offset < end
    ]
    nexts = [part.next_offset for part in parts]
    assert nexts == sorted(nexts)
    assert not wanted or wanted[-1].offset < nexts[-1] <= end


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches(), st.sets(st.sampled_from(EVERYTHING)))
def test_a_choice_of_columns_is_the_same_columns(engine, made, columns) -> None:
    raw = made.raw
    [whole] = decode(raw, 0, 2**62, columns=EVERYTHING, engine=NUMPY)
    [some] = decode(memoryview(raw), 0, 2**62, columns=columns, engine=engine)
    assert some.columns.keys() == columns
    assert all(some.columns[name].equals(whole.columns[name]) for name in columns)
    assert (some.rows, some.next_offset) == (whole.rows, whole.next_offset)


@st.composite
def damaged(draw: st.DrawFn, base: bytes) -> bytes:
    data = bytearray(base)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, min(len(data), 90)) | st.integers(0, len(data)))
        match draw(st.integers(0, 2)):
            case 0:
                data[at : at + 1] = draw(
                    st.binary(min_size=1, max_size=1) | st.sampled_from([b"\xff", b"\x80"])
                )
            case 1:
                del data[at : at + draw(st.integers(1, 9))]
            case 2:
                data[at:at] = draw(st.binary(min_size=1, max_size=9))
    return bytes(data)


SAMPLE = [
    Record(n, 1000 * n, b"key %d" % n, b"text" * (n // 30), [("h", b"x"), ("n", None)] * (n % 3 == 1))
    for n in range(90)
]


@settings(max_examples=300)
@given(st.data(), codecs)
def test_damaged_batches_give_their_rows_or_an_error(data: st.DataObject, codec: Codec) -> None:
    whole = bytes(write_batch(SAMPLE, codec=codec))
    hostile = data.draw(damaged(whole * 2))
    try:
        found = rows(list(decode(hostile, 0, 90, columns=EVERYTHING)))
    except KafkaError:
        return
    assert found in ([], SAMPLE), "the CRC tells"


@settings(max_examples=400)
@given(st.data(), codecs)
def test_damage_behind_a_right_crc_gives_the_same_rows_or_an_error(data: st.DataObject, codec: Codec) -> None:
    whole = bytes(write_batch(SAMPLE))
    body = data.draw(damaged(whole[61:]))
    hostile = bytearray(whole[:61] + compress(codec, body))
    struct.pack_into(">i", hostile, 8, len(hostile) - 12)
    struct.pack_into(">h", hostile, 21, codec)
    patch_crc(hostile, 0)

    def read(engine: str) -> list[Record] | None:
        try:
            return rows(list(decode(hostile, 0, 2**62, columns=EVERYTHING, engine=engine)))
        except KafkaError:
            return None

    found = read(NUMPY)
    if find_spec("numba") is not None:
        assert read(NUMBA) == found
    if found is None:
        return
    plain = [
        record._replace(
            headers=[
                (key.encode(errors="surrogateescape").decode(errors="replace"), value)
                for key, value in record.headers
            ]
        )
        for record in read_records(hostile)
    ]
    assert found == plain


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["write", "commit", "abort"])), max_size=25),
    st.data(),
)
def test_aborted_transactions_and_markers_are_left_out(steps, data) -> None:
    raw, aborted, kept = bytearray(), [], []
    open_since: dict[int, int] = {}
    written: dict[int, list[int]] = {1: [], 2: [], 3: []}
    offset = 0
    for producer, step in steps:
        if step == "write":
            count = data.draw(st.integers(1, 3))
            records = [Record(offset + n, 0, None, b"%d" % producer) for n in range(count)]
            raw += write_batch(
                records,
                base_offset=offset,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=0,
                transactional=True,
            )
            open_since.setdefault(producer, offset)
            written[producer] += range(offset, offset + count)
            offset += count
        elif producer in open_since:
            kind = ControlType.COMMIT if step == "commit" else ControlType.ABORT
            raw += write_control_batch(
                kind,
                producer_id=producer,
                producer_epoch=0,
                coordinator_epoch=0,
                timestamp=0,
                base_offset=offset,
            )
            first = open_since.pop(producer)
            if step == "abort":
                aborted.append((producer, first))
            else:
                kept += written[producer]
            written[producer] = []
            offset += 1
    stable = min(open_since.values(), default=offset)
    found = [
        n
        for part in decode(raw, 0, stable, columns=("offset",), aborted=aborted)
        for n in part.columns["offset"].to_pylist()
    ]
    assert found == sorted(n for n in kept if n < stable)


def test_an_unfinished_last_batch_is_left_for_the_next_read() -> None:
    whole = bytes(write_batch(SAMPLE[:10]))
    [part] = decode(whole + bytes(write_batch(SAMPLE[10:20], base_offset=10))[:-1], 0, 90)
    assert (part.rows, part.next_offset) == (10, 10)
    [part] = decode(whole[:-1], 0, 90)
    assert (part.rows, part.next_offset) == (0, 0)


def test_offsets_that_go_back_are_refused() -> None:
    twice = bytes(write_batch(SAMPLE[:10])) * 2
    with pytest.raises(KafkaError, match="batch at offset 0"):
        list(decode(twice, 0, 90))


def test_times_that_spark_cannot_hold_are_refused_only_where_asked_for() -> None:
    raw = bytes(write_batch([Record(0, 2**60, None, b"x")]))
    with pytest.raises(KafkaError, match="timestamp"):
        list(decode(raw, 0, 9))
    [part] = decode(raw, 0, 9, columns=("value",))
    assert part.columns["value"].to_pylist() == [b"x"]
