"""OffsetDelete, sent straight to the group's coordinator: confluent-kafka does not offer it."""

from collections.abc import Iterable

from tidelog.base.errors import ErrorCode
from tidelog.blocking.errors import Disconnected, NoAnswer
from tidelog.cli.connection import unreachable
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.admin import group_error
from tidelog.cli.group.lag import GroupInfo
from tidelog.cli.session import Session
from tidelog.clients.records import TopicPartition


def delete_committed(session: Session, group: GroupInfo, places: Iterable[TopicPartition]) -> None:
    from tidelog.cli.direct.cluster import DirectCluster
    from tidelog.wire.messages import offset_delete as wire

    if group.coordinator is None:
        raise CliError(
            f"Group '{group.name}' has no coordinator now.", attempt="the same command in a moment"
        )
    by_topic: dict[str, list[wire.OffsetDeleteRequestPartition]] = {}
    for place in places:
        part = wire.OffsetDeleteRequestPartition(partition_index=place.partition)
        by_topic.setdefault(place.topic, []).append(part)
    request = wire.OffsetDeleteRequest(
        group_id=group.name,
        topics=[
            wire.OffsetDeleteRequestTopic(name=topic, partitions=parts) for topic, parts in by_topic.items()
        ],
    )
    address = (group.coordinator.host, group.coordinator.port)
    try:
        answer = DirectCluster(session).ask_broker(address, request)
    except NoAnswer as error:
        raise CliError(
            f"The broker at {address[0]}:{address[1]} did not answer within {session.timeout_s:g} s.",
            cause="it is overloaded, or stopped a moment ago.",
            attempt="the same with --timeout 60",
            code=Exit.TIMED_OUT,
        ) from error
    except Disconnected as error:
        raise unreachable(f"{address[0]}:{address[1]}", [error]) from error
    _raise_refusal(answer.error_code, group.name, session)
    for topic in answer.topics:
        for part in topic.partitions:
            _raise_refusal(part.error_code, group.name, session, f"{topic.name}[{part.partition_index}]")


def _raise_refusal(code: int, name: str, session: Session, place: str = "") -> None:
    from confluent_kafka import KafkaError

    if code != ErrorCode.NONE:
        raise group_error(KafkaError(code), name, session, place)
