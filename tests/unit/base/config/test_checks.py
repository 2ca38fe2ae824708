import pytest

from tidelog.base.config.config import ConfigError, load


@pytest.mark.parametrize(
    ("flags", "name", "reason"),
    [
        ({"listeners": "A://0.0.0.0:9092"}, "listeners", "add advertised.listeners"),
        ({"listeners": "A://:9092"}, "listeners", "add advertised.listeners"),
        ({"advertised.listeners": "B://h:1"}, "advertised.listeners", "listeners has no B, only PLAINTEXT"),
        (
            {"queued.max.request.bytes": "1 MiB"},
            "queued.max.request.bytes",
            "less than the maximum size of a request",
        ),
        (
            {"controller.quorum.voters": "1@a:1,2@b:1", "socket.request.max.bytes": "1 MiB"},
            "socket.request.max.bytes",
            "set at least that",
        ),
        ({"inter.broker.listener.name": "B"}, "inter.broker.listener.name", "listeners has no B"),
        ({"log.cleaner.threads": "200"}, "log.cleaner.dedupe.buffer.size", "1 MiB for each of the 200"),
        (
            {"group.min.session.timeout.ms": "2", "group.max.session.timeout.ms": "1"},
            "group.min.session.timeout.ms",
            "above group.max.session.timeout.ms",
        ),
        (
            {"log.cleaner.min.compaction.lag.ms": "2", "log.cleaner.max.compaction.lag.ms": "1"},
            "log.cleaner.min.compaction.lag.ms",
            "is above",
        ),
    ],
)
def test_settings_that_cannot_stand_together(flags: dict[str, str], name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(flags=flags)
    (problem,) = refused.value.problems
    assert problem.name == name
    assert reason in problem.reason
    assert problem.where == ("--set" if name in flags else "")


def test_no_limit_is_larger_than_any_request() -> None:
    assert load(flags={"queued.max.request.bytes": "-1"}).int("queued.max.request.bytes") == -1


@pytest.mark.parametrize(
    ("flags", "warning"),
    [
        ({"min.insync.replicas": "2"}, "only as many in-sync replicas as it has"),
        ({"message.max.bytes": "2 MiB", "log.segment.bytes": "1 MiB"}, "must fit a segment"),
        ({"message.max.bytes": "200 MiB"}, "socket.request.max.bytes"),
        ({"log.roll.ms": "1d", "log.roll.hours": "3"}, "log.roll.hours has no effect"),
    ],
)
def test_warnings(flags: dict[str, str], warning: str) -> None:
    (found,) = load(flags=flags).warnings
    assert warning in found
