"""Questions to any broker: which version, which broker, and when to ask again."""

from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.cli.direct.call import NoAnswer
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.describe_cluster import DescribeClusterRequest

REQUEST = DescribeClusterRequest()


class Brokers:
    """Answers in place of sockets: {port: highest version}, and a script of answers."""

    def __init__(self, highest: dict[int, int], *answers: Any) -> None:
        self.highest = highest
        self.answers = list(answers)
        self.asked: list[tuple[int, int]] = []

    def send(self, address: tuple[str, int], api: ApiKey, version: int, *_: object) -> Any:
        port = address[1]
        if port not in self.highest:
            raise ConnectionRefusedError
        if api is ApiKey.API_VERSIONS:
            row = SimpleNamespace(
                api_key=int(ApiKey.DESCRIBE_CLUSTER), min_version=0, max_version=self.highest[port]
            )
            return SimpleNamespace(api_keys=[row])
        self.asked.append((port, version))
        answer = self.answers.pop(0) if self.answers else 0
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(error_code=answer)


def cluster(brokers: Brokers, servers: str = "a:1,b:2", **session: Any) -> DirectCluster:
    clock = iter(range(1000))
    return DirectCluster(
        Session(servers=servers, **session),
        send=brokers.send,
        now=lambda: float(next(clock)),
        sleep=lambda _: None,
    )


@pytest.mark.parametrize(("highest", "used"), [(0, 0), (1, 1), (2, 2), (99, 2)])
def test_the_newest_version_that_both_know(highest: int, used: int) -> None:
    brokers = Brokers({1: highest})
    cluster(brokers).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    assert brokers.asked == [(1, used)]


def test_a_broker_that_is_too_old_says_so() -> None:
    with pytest.raises(CliError, match="does not offer DescribeCluster version 2") as caught:
        cluster(Brokers({1: 1})).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST, oldest=2)
    assert caught.value.code is Exit.REFUSED
    with pytest.raises(CliError, match="does not offer DescribeQuorum"):
        cluster(Brokers({1: 1})).ask(ApiKey.DESCRIBE_QUORUM, REQUEST)


def test_the_next_broker_is_asked_when_one_is_away_and_kept() -> None:
    brokers = Brokers({2: 2})
    direct = cluster(brokers)
    direct.ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    brokers.highest[1] = 2
    direct.ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    assert [port for port, _ in brokers.asked] == [2, 2]


def test_brokers_that_were_learned_are_asked_last() -> None:
    brokers = Brokers({3: 2})
    direct = cluster(brokers)
    with pytest.raises(CliError) as caught:
        direct.ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    assert caught.value.code is Exit.UNREACHABLE
    direct.learn([("a", 1), ("c", 3)])
    direct.ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    assert brokers.asked == [(3, 2)]


def test_it_asks_again_while_the_controller_changes() -> None:
    brokers = Brokers({1: 2}, ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_CONTROLLER, 0)
    assert cluster(brokers).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST).error_code == 0
    assert len(brokers.asked) == 3


def test_it_gives_the_error_when_time_is_up() -> None:
    brokers = Brokers({1: 2}, *[ErrorCode.NOT_CONTROLLER] * 50)
    answer = cluster(brokers, timeout_s=5).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    assert len(brokers.asked) < 10


def test_nonsense_is_no_kafka_broker() -> None:
    with pytest.raises(CliError, match="does not answer as a Kafka broker does"):
        cluster(Brokers({1: 2}, ProtocolError("short"))).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)


def test_encryption_is_not_offered_here() -> None:
    with pytest.raises(CliError, match="plain connection only"):
        DirectCluster(Session(properties={"security.protocol": "ssl"}))


def test_a_broker_that_keeps_silent_is_not_called_unreachable() -> None:
    """It is there, but without a controller it has nobody to pass the question on to."""
    with pytest.raises(CliError, match=r"answered within 15 s") as caught:
        cluster(Brokers({1: 2}, NoAnswer())).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    assert caught.value.code is Exit.TIMED_OUT
    assert "voters" in (caught.value.cause or "")


def test_another_broker_may_know_more_than_a_silent_one() -> None:
    brokers = Brokers({1: 2, 2: 2}, NoAnswer())
    assert cluster(brokers).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST).error_code == 0
    assert [port for port, _ in brokers.asked] == [1, 2]


def test_less_patience_for_one_question() -> None:
    waited: list[float] = []

    def send(_address: object, api: ApiKey, _version: int, _request: object, timeout_s: float) -> Any:
        waited.append(timeout_s)
        row = SimpleNamespace(api_key=int(ApiKey.DESCRIBE_CLUSTER), min_version=0, max_version=2)
        return SimpleNamespace(api_keys=[row], error_code=0)

    patient = DirectCluster(Session(servers="a:1", timeout_s=15), send=send)
    patient.for_seconds(5).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    patient.for_seconds(60).ask(ApiKey.DESCRIBE_CLUSTER, REQUEST)
    assert waited == [5, 5, 15, 15]
