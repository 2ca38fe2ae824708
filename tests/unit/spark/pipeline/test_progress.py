"""Spark's progress reports as the few numbers a person looks at."""

from typing import Any

from tidelog.spark.pipeline.progress import Meter, lag_by_topic, lag_of

START_S = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def report(batch: int, second: int, rows: int, **more: Any) -> dict[str, Any]:
    return {
        "batchId": batch,
        "timestamp": f"2026-01-01T00:00:{second:02d}.000Z",
        "numInputRows": rows,
        "durationMs": {"triggerExecution": 500},
        "sources": [{"latestOffset": '{"orders":{"0":9},"@lag":3}'}],
        "stateOperators": [{"numRowsTotal": 4, "memoryUsedBytes": 1000, "numRowsDroppedByWatermark": 1}],
        **more,
    }


def test_rows_are_counted_once_however_often_a_report_is_seen() -> None:
    meter = Meter("q")
    first = report(0, 0, 100)
    meter.take([first], START_S + 1)
    meter.take([first], START_S + 2)
    seen = meter.take([first, report(1, 2, 50)], START_S + 3)
    assert (seen.rows, seen.batch, seen.lag, seen.batch_ms) == (150, 1, 3, 500)
    assert (seen.state_rows, seen.state_bytes, seen.dropped_late) == (4, 1000, 2)


def test_by_spark_connect_the_sources_say_how_many_rows_there_were() -> None:
    sources = [{"numInputRows": 30}, {"numInputRows": 20}, {}]
    assert Meter("q").take([report(0, 0, 0, numInputRows=None, sources=sources)], START_S + 1).rows == 50


def test_the_rate_is_that_of_the_last_seconds_and_falls_to_nothing() -> None:
    meter = Meter("q")
    assert meter.take([report(0, 0, 1000)], START_S + 4).rows_per_s == 250
    assert meter.take([], START_S + 10).rows_per_s == 100
    assert meter.take([], START_S + 20).rows_per_s == 0


def test_an_idle_report_keeps_the_time_of_the_last_batch() -> None:
    meter = Meter("q")
    meter.take([report(0, 0, 10)], START_S)
    idle = report(0, 9, 0, durationMs={"triggerExecution": 2})
    assert meter.take([idle], START_S + 9).batch_ms == 500


def test_lag_is_the_sum_of_the_sources_that_say_it() -> None:
    assert (
        lag_of([{"latestOffset": {"@lag": 2}}, {"latestOffset": '{"@lag":5}'}, {"latestOffset": None}]) == 7
    )
    assert lag_of([{"latestOffset": "damaged"}]) is None


def test_lag_by_topic_is_the_distance_to_the_end_of_each() -> None:
    orders = {
        "endOffset": '{"orders":{"0":5,"1":9},"@topicIds":{"orders":"x"}}',
        "latestOffset": '{"orders":{"0":9,"1":9,"2":3},"users":{"0":4},"@lag":7}',
    }
    again = {"endOffset": {"orders": {"0": 9}}, "latestOffset": {"orders": {"0": 10}}}
    assert lag_by_topic([orders, again, {"endOffset": None, "latestOffset": "damaged"}]) == {
        "orders": 4 + 0 + 3 + 1,
        "users": 4,
    }


def test_batches_rates_and_output_add_up() -> None:
    meter = Meter("q")
    sunk = {"sink": {"numOutputRows": 40}, "inputRowsPerSecond": 12.5, "processedRowsPerSecond": "NaN"}
    first = report(0, 0, 100, **sunk)
    idle = report(0, 5, 0, sink={"numOutputRows": -1})
    seen = meter.take([first, idle, report(1, 9, 10, **sunk)], START_S + 10, is_active=False)
    assert (seen.batches, seen.output_rows) == (2, 80)
    assert (seen.input_per_s, seen.processed_per_s) == (12.5, 0.0)
    assert seen.ended_s == START_S + 9.5
    assert not seen.is_active
    meter.restarted()
    assert meter.take([], START_S + 11).restarts == 1
