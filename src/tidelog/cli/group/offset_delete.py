"""OffsetDelete, sent straight to the group's coordinator: confluent-kafka does not offer it."""

from collections.abc import Iterable

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.cli.connection import unreachable
from tidelog.cli.direct.call import call, is_plain
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.admin import group_error
from tidelog.cli.group.lag import GroupInfo
from tidelog.cli.session import Session
from tidelog.clients.records import TopicPartition
from tidelog.wire.apis import ApiKey

VERSION = 0


def delete_committed(session: Session, group: GroupInfo, places: Iterable[TopicPartition]) -> None:
    from tidelog.wire.messages import offset_delete as wire

    if not is_plain(session):
        raise CliError(
            "Offsets cannot be deleted over an encrypted or authenticated connection.",
            cause="confluent-kafka does not offer this call, and tidelog's own way is a plain connection.",
            attempt=f"a plain listener, or: tidelog group reset-offsets {group.name}",
        )
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
        answer = call(address, ApiKey.OFFSET_DELETE, VERSION, request, session.timeout_s)
    except TimeoutError as error:
        raise CliError(f"Broker {address[0]}:{address[1]} did not answer.", code=Exit.TIMED_OUT) from error
    except OSError as error:
        raise unreachable(f"{address[0]}:{address[1]}", [error]) from error
    except ProtocolError as error:
        raise CliError(f"Broker {address[0]}:{address[1]} gave no good answer: {error}.") from error
    _raise_refusal(answer.error_code, group.name, session)
    for topic in answer.topics:
        for part in topic.partitions:
            _raise_refusal(part.error_code, group.name, session, f"{topic.name}[{part.partition_index}]")


def _raise_refusal(code: int, name: str, session: Session, place: str = "") -> None:
    from confluent_kafka import KafkaError

    if code != ErrorCode.NONE:
        raise group_error(KafkaError(code), name, session, place)
