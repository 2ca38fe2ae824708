"""The shard: what waits for a commit, and what a client hears when the log fails."""

from tests.rigs.registry import Registry, schema
from tidelog.base.errors import ErrorCode
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.preparing import Prepared
from tidelog.registry.state import lookups
from tidelog.registry.state.registering import Registration


def test_an_answer_waits_for_its_records():
    registry = Registry()
    registry.log.holds = True
    request = Registration("a", schema("x"))
    job = registry.shard.job(request)
    answer = registry.log.write(registry.shard.register(request, job, Prepared("x")))
    assert not answer.done
    assert registry.state.subjects  # the next decision sees it
    registry.log.commit()
    assert answer.answer.id == 1


def test_a_log_that_cannot_be_written():
    registry = Registry()
    registry.log.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 1)
    assert registry.code_of(registry.shard.change_config(None, {})) == RegistryCode.UNKNOWN_LEADER
    registry.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS, 1)
    assert registry.code_of(registry.shard.change_config(None, {})) == RegistryCode.OPERATION_TIMEOUT
    registry.log.refuse(ErrorCode.MESSAGE_TOO_LARGE, 1)
    assert registry.code_of(registry.shard.change_config(None, {})) == RegistryCode.STORE_ERROR
    assert registry.state.configs == {}


def test_a_look_is_an_answer_or_a_refusal():
    registry = Registry()
    registry.register("a", "x")
    assert registry.run(registry.shard.look(lambda state: lookups.by_id(state, 1).subject)) == "a"
    refusal = registry.shard.look(lambda state: lookups.by_id(state, 2))
    assert isinstance(refusal.if_committed, RegistryError)
    assert refusal.records == ()


def test_it_has_no_timers():
    shard = Registry().shard
    assert (shard.next_deadline, shard.tick(0, 0)) == (None, None)
    shard.unload()
