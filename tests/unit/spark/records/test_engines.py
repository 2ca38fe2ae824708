"""Who decodes: what was asked for, or numpy at first and numba once there is enough to do."""

import sys

import pytest

from tidelog.spark.records import batch_decoding_numba, engines, fields
from tidelog.spark.records.aborted import AbortedFilter
from tidelog.spark.records.bodies import Group, groups
from tidelog.spark.records.engines import AUTO, NUMBA, NUMPY, engine_named
from tidelog.wire.record import Record, write_batch


@pytest.fixture(autouse=True)
def _forget_choices() -> None:
    engine_named.cache_clear()


def group() -> Group:
    batch = bytes(write_batch([Record(0, 0, b"k", b"v" * 1000)]))
    [found] = groups(batch, 0, 9, aborted=AbortedFilter(), check_crcs=True)
    return found


def test_numba_is_taken_once_there_is_enough_to_decode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "NUMBA_WORTH_BYTES", 2500)
    asked = []
    monkeypatch.setattr(engines._PLAIN, "find", lambda *of: asked.append("numpy") or fields.find(*of))
    monkeypatch.setattr(batch_decoding_numba, "find", lambda *of: asked.append("numba") or fields.find(*of))
    automatic = engine_named(AUTO)
    for _ in range(5):
        automatic.find(group(), ["key"])
    assert asked == ["numpy"] * 3 + ["numba"] * 2


def test_without_numba_numpy_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "NUMBA_WORTH_BYTES", 0)
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    automatic = engine_named(AUTO)
    assert [automatic.find(group(), ["key"]).counts.tolist() for _ in range(3)] == [[1]] * 3


def test_numba_that_was_asked_for_and_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tidelog.spark.records.batch_decoding_numba", None)
    monkeypatch.delattr("tidelog.spark.records.batch_decoding_numba", raising=False)
    with pytest.raises(ValueError, match=r"tidelog\[numba\]"):
        engine_named(NUMBA)


def test_an_engine_that_is_none_is_refused() -> None:
    assert engine_named(NUMPY).find(group(), ["key"]).counts.tolist() == [1]
    with pytest.raises(ValueError, match="auto, numpy, numba"):
        engine_named("pandas")
