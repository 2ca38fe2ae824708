"""What the group commands ask of the broker, in plain values."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.connection import Cluster, as_cli_error, exit_for
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.calls import ask_groups
from tidelog.cli.group.lag import GroupInfo, GroupStanding, standing
from tidelog.cli.group.share import is_share
from tidelog.cli.group.states import UNKNOWN, exact_states
from tidelog.cli.group.typed import find_typed_groups, list_typed_groups
from tidelog.cli.session import Session
from tidelog.clients.records import TopicPartition

DEAD = "Dead"  # how a broker describes a group that it does not have
STATES = {  # librdkafka's names, and Kafka's
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "STABLE": "Stable",
    "DEAD": DEAD,
    "EMPTY": "Empty",
}
TYPES = {"CLASSIC": "Classic", "CONSUMER": "Consumer"}


@dataclass(frozen=True, slots=True)
class Listed:
    name: str
    state: str
    type: str
    is_simple: bool
    """Offsets only: its consumers assign partitions to themselves."""


def list_groups(cluster: Cluster) -> list[Listed]:
    """Every group, by name."""
    from confluent_kafka import KafkaError

    admin = cluster.admin
    found = cluster.ask(lambda **named: {"": admin.list_consumer_groups(**named)})[""]
    if isinstance(found, KafkaError):
        raise as_cli_error(found, cluster.session, "Listing groups")
    if found.errors:  # a broker that did not answer hides its groups: better no list than half of it
        raise as_cli_error(found.errors[0].args[0], cluster.session, "Listing groups")
    groups = [
        Listed(
            group.group_id,
            _named(STATES, group, "state"),
            _named(TYPES, group, "type"),
            bool(group.is_simple_consumer_group),
        )
        for group in found.valid
    ]
    if any(group.state == UNKNOWN for group in groups):
        brokers = cluster.list_topics().brokers.values()
        exact = exact_states(cluster.session, [(broker.host, broker.port) for broker in brokers])
        groups = [
            Listed(group.name, exact.get(group.name, group.state), group.type, group.is_simple)
            for group in groups
        ]
    typed = list_typed_groups(cluster)
    groups = [group for group in groups if group.name not in typed]
    groups += [Listed(name, *found, is_simple=False) for name, found in typed.items()]
    return sorted(groups, key=lambda group: group.name)


def _named(names: Mapping[str, str], group: Any, attribute: str) -> str:
    """An old broker does not tell."""
    value = getattr(group, attribute, None)
    return UNKNOWN if value is None else names.get(value.name, UNKNOWN)


def find_groups(cluster: Cluster, names: Collection[str]) -> dict[str, GroupInfo]:
    """Describes these groups; leaves out those that the broker does not have."""
    from confluent_kafka import KafkaError

    answers = ask_groups(cluster, cluster.admin.describe_consumer_groups, list(names))
    found: dict[str, GroupInfo] = {}
    for name, answer in answers.items():
        if isinstance(answer, KafkaError):
            if exit_for(answer) is Exit.NOT_FOUND:
                continue
            raise group_error(answer, name, cluster.session)
        info = _info(answer, cluster.session)
        if info.state != DEAD:
            found[name] = info
    return found | find_typed_groups(cluster, [name for name in answers if name not in found])


def group_infos(cluster: Cluster, names: Collection[str]) -> list[GroupInfo]:
    """The groups in the order of their names as given; NOT_FOUND where one does not exist."""
    found = find_groups(cluster, names)
    for name in names:
        if name not in found:
            raise no_such_group(name, cluster.session)
    return [found[name] for name in dict.fromkeys(names)]


def _info(answer: Any, session: Session) -> GroupInfo:
    from tidelog.clients.admin.results import GroupMember, Node
    from tidelog.clients.places import from_librdkafka

    node = answer.coordinator
    coordinator = None if node is None or node.id < 0 else Node(node.id, node.host, node.port, node.rack)
    state = _named(STATES, answer, "state")
    if state == UNKNOWN and coordinator is not None:
        exact = exact_states(session, [(coordinator.host, coordinator.port)])
        state = exact.get(answer.group_id, state)
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.host.lstrip("/"),
            member.group_instance_id,
            tuple(sorted(from_librdkafka(member.assignment.topic_partitions))),
            tuple(sorted(from_librdkafka(member.target_assignment.topic_partitions)))
            if member.target_assignment is not None
            else (),
        )
        for member in answer.members
    )
    return GroupInfo(
        answer.group_id,
        state,
        _named(TYPES, answer, "type"),
        answer.partition_assignor or "",
        coordinator,
        tuple(sorted(members, key=lambda member: (member.client_id, member.member_id))),
    )


def standings(cluster: Cluster, infos: Sequence[GroupInfo]) -> list[GroupStanding]:
    with_offsets = [info for info in infos if not is_share(info)]
    committed = committed_offsets(cluster, [info.name for info in with_offsets])
    places = {place for offsets in committed.values() for place in offsets}
    places.update(place for info in with_offsets for member in info.members for place in member.assignment)
    ends = edge_offsets(cluster, places, "latest")
    return [
        GroupStanding(info, ()) if is_share(info) else standing(info, committed[info.name], ends)
        for info in infos
    ]


def committed_offsets(cluster: Cluster, names: Sequence[str]) -> dict[str, dict[TopicPartition, int]]:
    """What each group has committed."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError

    admin = cluster.admin

    def ask_each(wanted: Sequence[str], **named: Any) -> dict[str, Any]:
        # The call takes one group, so many are under way at once.
        futures: dict[str, Any] = {}
        for name in wanted:
            futures |= admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)], **named)
        return futures

    found: dict[str, dict[TopicPartition, int]] = {}
    for name, answer in ask_groups(cluster, ask_each, names).items():
        if isinstance(answer, KafkaError):
            raise group_error(answer, name, cluster.session)
        found[name] = {
            TopicPartition(at.topic, at.partition): at.offset
            for at in answer.topic_partitions
            if at.error is None and at.offset >= 0
        }
    return found


def edge_offsets(
    cluster: Cluster, places: Iterable[TopicPartition], edge: str, *arguments: int
) -> dict[TopicPartition, int]:
    """Where partitions begin (earliest), end (latest), or stand at a time (for_timestamp). One that is gone,
    or has no record that late, is left out."""
    from confluent_kafka import KafkaError
    from confluent_kafka import TopicPartition as LibrdkafkaPlace
    from confluent_kafka.admin import OffsetSpec

    spec = getattr(OffsetSpec, edge)(*arguments)
    wanted = {LibrdkafkaPlace(place.topic, place.partition): spec for place in sorted(places)}
    if not wanted:
        return {}
    found: dict[TopicPartition, int] = {}
    for place, answer in cluster.ask(cluster.admin.list_offsets, wanted).items():
        if not isinstance(answer, KafkaError):
            if answer.offset >= 0:
                found[TopicPartition(place.topic, place.partition)] = answer.offset
        elif exit_for(answer) is Exit.DENIED:
            raise as_cli_error(answer, cluster.session, f"Topic '{place.topic}'")
    return found


def set_offsets(cluster: Cluster, name: str, offsets: Mapping[TopicPartition, int]) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError

    from tidelog.clients.places import to_librdkafka

    admin = cluster.admin
    places = [to_librdkafka(place, offset) for place, offset in offsets.items()]

    def alter(_names: Sequence[str], **named: Any) -> Any:
        return admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(name, places)], **named)

    [answer] = ask_groups(cluster, alter, [name]).values()
    if isinstance(answer, KafkaError):
        raise group_error(answer, name, cluster.session)
    for at in answer.topic_partitions:
        if at.error is not None:
            raise group_error(at.error, name, cluster.session, f"{at.topic}[{at.partition}]")


def no_such_group(name: str, session: Session) -> CliError:
    return CliError(
        f"There is no group '{name}' at {session.servers}.",
        cause="no consumer joined or committed under this name, its offsets have expired, or it is a share "
        "group, which has no committed offsets: `tidelog queue` moves those.",
        attempt="tidelog group list",
        code=Exit.NOT_FOUND,
    )


def in_use(name: str, members: int | None = None) -> CliError:
    """Only a group without members can be moved or deleted: a member would go on with its own offsets."""
    count = "active members" if members is None else f"{members} active member{'s' if members != 1 else ''}"
    return CliError(
        f"Group '{name}' has {count}.",
        cause="its consumers are running; stop them first. A consumer that crashed, or has an instance "
        "id, counts until its session ends.",
        attempt=f"tidelog group members {name} --watch",
        code=Exit.REFUSED,
    )


def group_error(error: Any, name: str, session: Session, place: str = "") -> CliError:
    """A broker's refusal about one group, with the command that would help. `error` is a KafkaError of
    confluent-kafka."""
    kind = error.name()
    if kind == "GROUP_ID_NOT_FOUND":
        return no_such_group(name, session)
    # A commit from outside of a group with members is refused for want of a member's id.
    if kind in ("NON_EMPTY_GROUP", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"):
        return in_use(name)
    if kind == "GROUP_SUBSCRIBED_TO_TOPIC":
        return CliError(
            f"Group '{name}' is subscribed to {place or 'the topic'}.",
            cause="its consumers are running; stop them first.",
            attempt=f"tidelog group members {name}",
            code=Exit.REFUSED,
        )
    return as_cli_error(error, session, f"Group '{name}'" + (f", {place}" if place else ""))
