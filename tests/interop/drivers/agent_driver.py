"""A driver over an agent in another language: ../agent.py says how they talk."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.interop.agent import Agent
from tests.interop.driver import (
    PATIENCE_S,
    ClusterInfo,
    ConfigChange,
    ConfigEntry,
    GroupInfo,
    MemberInfo,
    PartitionInfo,
    Place,
    Record,
)
from tests.interop.drivers.members import Members
from tests.interop.group_member import Committed
from tests.interop.transactor import AgentTransactions


class AgentDriver(AgentTransactions, Members):
    """What every language's agent can do: produce, administer, and read in groups."""

    takes_many = True
    can_leave_counts_out = True

    def __init__(self, bootstrap: str, start_agent: Callable[[], Agent]) -> None:
        self._bootstrap = bootstrap
        self._start_process = start_agent
        self._agent = self._shared = start_agent()

    def close(self) -> None:
        self._agent.close()

    def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
        small_batches: bool = False,
        **more: Any,
    ) -> list[int] | None:
        offsets = self._agent.ask(
            "produce",
            topic=topic,
            records=[as_json(record) for record in records],
            codec=codec,
            acks={"0": 0, "1": 1, "all": -1}[acks],
            idempotent=idempotent,
            small_batches=small_batches,
            **more,
        )
        return list(offsets) if acks != "0" else None

    def secured(self, login: Mapping[str, str | None], topic: str, values: Sequence[str]) -> list[str]:
        """Write values and read them back over connections that a login opens."""
        return list(self._agent.ask("secured", login=dict(login), topic=topic, values=list(values)))

    def find_offset(self, topic: str, spec: int, partition: int = 0) -> int | None:
        offset = int(self._agent.ask("find_offset", topic=topic, spec=spec, partition=partition))
        return None if offset < 0 else offset

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        self._agent.ask(
            "create_topic",
            topic=topic,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=dict(configs or {}),
            validate_only=validate_only,
        )

    def list_topics(self) -> set[str]:
        return set(self._agent.ask("list_topics"))

    def describe_topic(self, topic: str) -> dict[int, PartitionInfo]:
        return {
            partition: PartitionInfo(leader, replicas, isr)
            for partition, leader, replicas, isr in self._agent.ask("describe_topic", topic=topic)
        }

    def describe_configs(self, kind: str, name: str) -> dict[str, ConfigEntry]:
        return {
            key: ConfigEntry(value, is_default, read_only, sensitive, tuple((n, v) for n, v in synonyms))
            for key, value, is_default, read_only, sensitive, synonyms in self._agent.ask(
                "describe_configs", kind=kind, name=name
            )
        }

    def add_partitions(self, topic: str, total: int) -> None:
        self._agent.ask("add_partitions", topic=topic, total=total)

    def delete_records(self, topic: str, before: int, partition: int = 0) -> int:
        return int(self._agent.ask("delete_records", topic=topic, before=before, partition=partition))

    def delete_topic(self, topic: str) -> None:
        self._agent.ask("delete_topic", topic=topic)

    def describe_cluster(self) -> ClusterInfo:
        found = self._agent.ask("describe_cluster")
        return ClusterInfo(found["cluster_id"], found["controller"], dict(found["brokers"]))

    def list_groups(self) -> dict[str, str | None]:
        return {group: state and state.lower() for group, state in self._agent.ask("list_groups")}

    def describe_group(self, group: str) -> GroupInfo:
        found = self._agent.ask("describe_group", group=group)
        members = [
            MemberInfo(client_id, host, instance_id, {(topic, index) for topic, index in places})
            for client_id, host, instance_id, places in found["members"]
        ]
        return GroupInfo(found["state"].lower(), found["assignor"], members)

    def delete_group(self, group: str) -> None:
        self._agent.ask("delete_group", group=group)

    def group_offsets(self, group: str) -> dict[Place, Committed]:
        return {
            (topic, index): Committed(offset, metadata)
            for topic, index, offset, metadata in self._agent.ask("group_offsets", group=group)
        }

    def alter_group_offsets(self, group: str, offsets: Mapping[Place, Committed]) -> None:
        self._agent.ask(
            "alter_group_offsets", group=group, places=[[*place, *one] for place, one in offsets.items()]
        )


class ConsumingAgentDriver(AgentDriver):
    """An agent whose client can also read without a group, and knows the newer admin calls."""

    def consume(
        self,
        topic: str,
        start: int,
        count: int,
        partitions: Sequence[int] = (0,),
        patience_s: float = PATIENCE_S,
    ) -> list[Record]:
        answer = self._agent.ask(
            "consume",
            topic=topic,
            start=start,
            count=count,
            partitions=list(partitions),
            patience_ms=int(patience_s * 1000),
        )
        return [from_json(record) for record in answer]

    def offset_of_newest_timestamp(self, topic: str, partition: int = 0) -> int | None:
        return self.find_offset(topic, -3, partition)

    def alter_configs(self, kind: str, name: str, changes: Iterable[ConfigChange]) -> None:
        self._agent.ask("alter_configs", kind=kind, name=name, changes=[list(change) for change in changes])

    def log_sizes(self, topic: str) -> dict[int, int]:
        return dict(self._agent.ask("log_sizes", topic=topic))

    def delete_group_offsets(self, group: str, places: Iterable[Place]) -> None:
        self._agent.ask("delete_group_offsets", group=group, places=[list(place) for place in places])


def as_json(record: Record) -> list[Any]:
    headers = [[name, to_text(value)] for name, value in record.headers]
    return [to_text(record.key), to_text(record.value), headers, record.timestamp, record.partition]


def from_json(fields: list[Any]) -> Record:
    key, value, headers, *rest = fields
    return Record(
        to_bytes(key), to_bytes(value), tuple((name, to_bytes(text)) for name, text in headers), *rest
    )


def to_text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def to_bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
