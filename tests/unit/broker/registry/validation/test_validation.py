"""Batches whose schemas are checked: at once where all is known, in order where they wait."""

import asyncio

import pytest

from tests.rigs.log import NOW_MS, open_log
from tests.rigs.partition import sole_leader
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.registry.validation import validation as module
from tidelog.broker.registry.validation.known import NoAnswer
from tidelog.broker.registry.validation.validation import SchemaValidation
from tidelog.storage.admission import RecordsRefused
from tidelog.storage.log_config import LogConfig
from tidelog.storage.schema_checks import SchemaChecks, SchemasNotChecked, SubjectStrategy
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, write_batch

CHECKS = SchemaChecks(None, SubjectStrategy.TOPIC)


class Known:
    """Schema 1 is known until it is forgotten, and like 2 passes when asked for; others do not."""

    def __init__(self):
        self.asked = []
        self.is_silent = False
        self.is_forgotten = False

    def passes(self, rule, name):
        return name == 1 and not self.is_forgotten

    async def ask(self, questions):
        self.asked += [name for question in questions for name in question.names]
        await asyncio.sleep(1.0)
        if self.is_silent:
            raise NoAnswer("nothing came")
        bad = {3, 4}
        return {one.rule: {name: "bad" if name in bad else None for name in one.names} for one in questions}


class Rig:
    def __init__(self):
        config = LogConfig(schema_checks=CHECKS)
        self.partition = sole_leader(open_log(MemoryDisk(), config), on_unsynced=lambda _: None)
        self.known = Known()
        self.validation = SchemaValidation(self.known)
        self.finished = []

    def submit(self, *ids, order="one client", codec=Codec.NONE, name=None):
        records = [Record(n, NOW_MS, None, b"\0" + id_.to_bytes(4, "big")) for n, id_ in enumerate(ids)]
        frame = write_batch(records, codec=codec)

        def finish(batch, refusal):
            self.finished.append((name or ids, refusal and (refusal.code, getattr(refusal, "numbers", None))))
            if refusal is None:
                self.partition.produce(batch, all_replicas=False, now_ms=NOW_MS, schemas_checked=True)

        waits = self.validation.submit(order, self.partition, memoryview(frame), finish)
        frame[:] = bytes(len(frame))  # the connection uses its buffer for other requests
        return waits


def test_a_partition_takes_no_batch_unchecked():
    rig = Rig()
    batch = write_batch([Record(0, NOW_MS, None, b"\0\0\0\0\1")])
    with pytest.raises(SchemasNotChecked):
        rig.partition.produce(memoryview(batch), all_replicas=False, now_ms=NOW_MS)
    assert rig.partition.log.end == 0


@pytest.mark.parametrize("codec", list(Codec))
def test_known_schemas_are_appended_at_once(codec):
    rig = Rig()
    assert rig.submit(1, 1, codec=codec) is None
    assert rig.finished == [((1, 1), None)]
    assert rig.partition.log.end == 2


def test_an_unknown_schema_is_looked_up():
    async def scenario():
        rig = Rig()
        waits = rig.submit(1, 2)
        assert rig.finished == []
        await waits
        assert rig.finished == [((1, 2), None)]
        assert rig.known.asked == [2]
        assert rig.partition.log.end == 2, "of the copy: the buffer is used for others by then"

    run(scenario())


def test_records_to_blame_are_named():
    async def scenario():
        rig = Rig()
        await rig.submit(1, 3, 2, 4)
        assert rig.finished == [((1, 3, 2, 4), (ErrorCode.INVALID_RECORD, [1, 3]))]
        assert rig.partition.log.end == 0

    run(scenario())


def test_batches_of_a_connection_stay_in_order_and_others_do_not_wait():
    async def scenario():
        rig = Rig()
        slow = [rig.submit(2, name="first"), rig.submit(1, name="second")]
        assert rig.submit(1, order="another client", name="other") is None
        await asyncio.gather(*slow)
        assert [name for name, _ in rig.finished] == ["other", "first", "second"]
        assert rig.submit(1, name="third") is None

    run(scenario())


def test_a_client_that_leaves():
    async def scenario():
        rig = Rig()
        rig.submit(2).cancel()
        await rig.submit(1)
        assert len(rig.finished) == 2
        assert rig.validation._waiting_bytes == 0

    run(scenario())


def test_a_registry_that_does_not_answer():
    async def scenario():
        rig = Rig()
        rig.known.is_silent = True
        await rig.submit(2)
        assert rig.finished == [((2,), (ErrorCode.REQUEST_TIMED_OUT, None))]

    run(scenario())


def test_waiting_batches_have_a_limit(monkeypatch):
    async def scenario():
        rig = Rig()
        waits = rig.submit(2)
        monkeypatch.setattr(module, "WAITING_BYTES_MAX", rig.validation._waiting_bytes)
        assert rig.submit(2, name="too much") is None
        assert rig.finished == [("too much", (ErrorCode.REQUEST_TIMED_OUT, None))]
        await waits
        assert rig.finished[1:] == [((2,), None)]

    run(scenario())


def test_the_end_of_a_broker_refuses_what_waits():
    async def scenario():
        rig = Rig()
        waits = [rig.submit(2), rig.submit(1)]
        await asyncio.sleep(0)
        rig.validation.close()
        await asyncio.gather(*waits)
        assert [refusal[0] for _, refusal in rig.finished] == [ErrorCode.REQUEST_TIMED_OUT] * 2

    run(scenario())


def test_a_batch_that_is_none():
    rig = Rig()
    seen = []
    rig.validation.submit(
        "x", rig.partition, memoryview(bytearray(100)), lambda _, refusal: seen.append(refusal)
    )
    assert isinstance(seen[0], KafkaError)
    assert not isinstance(seen[0], RecordsRefused)


def test_a_check_that_is_switched_off_while_a_batch_waits():
    async def scenario():
        rig = Rig()
        waits = [rig.submit(2), rig.submit(3)]
        rig.partition.log.config = LogConfig()
        await asyncio.gather(*waits)
        assert [refusal for _, refusal in rig.finished] == [None, None]

    run(scenario())


def test_a_schema_that_is_forgotten_while_another_is_asked_for():
    async def scenario():
        rig = Rig()
        waits = rig.submit(1, 3)
        await asyncio.sleep(0.5)
        rig.known.is_forgotten = True
        await waits
        assert rig.known.asked == [3, 1]
        assert rig.finished == [((1, 3), (ErrorCode.INVALID_RECORD, [1]))]
        assert rig.partition.log.end == 0

    run(scenario())


def test_another_subject_is_asked_for_while_a_batch_waits():
    async def scenario():
        rig = Rig()
        waits = rig.submit(3)
        await asyncio.sleep(0.5)
        rig.partition.log.config = LogConfig(schema_checks=SchemaChecks(None, SubjectStrategy.RECORD))
        await waits
        assert rig.known.asked == [3, 3]
        assert rig.finished == [((3,), (ErrorCode.INVALID_RECORD, [0]))]

    run(scenario())
