"""Talks to a client in another language: one process each, a JSON command a line in, an answer a line out.

A command is {"do": name, ...}; an answer is {"ok": result} or {"refused": code, "message": text} or
{"unfinished": text, "got": n}. Bytes travel as base64. Records are [key, value, headers, timestamp,
partition, offset, append_time]. Sharing one process keeps the start of a JVM out of every test.
"""

import json
import subprocess
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver import (
    PATIENCE_S,
    ClusterInfo,
    ConfigChange,
    ConfigEntry,
    PartitionInfo,
    Record,
    Refused,
    Unfinished,
)


class Agent:
    def __init__(
        self, command: Sequence[str], cwd: Path | None = None, environment: dict[str, str] | None = None
    ) -> None:
        self._command = command
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, do: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._command[0]} ended with {self._process.wait()} on {do}")
        answer = json.loads(line)
        if "ok" in answer:
            return answer["ok"]
        if "refused" in answer:
            raise Refused(answer["refused"], answer["message"])
        if "unfinished" in answer:
            raise Unfinished(answer["unfinished"], range(answer.get("got", 0)))
        raise RuntimeError(answer["failed"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class AgentDriver:
    """What every language's agent can do: produce and administer."""

    takes_many = True
    can_leave_counts_out = True

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

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
    ) -> list[int] | None:
        offsets = self._agent.ask(
            "produce",
            topic=topic,
            records=[as_json(record) for record in records],
            codec=codec,
            acks={"0": 0, "1": 1, "all": -1}[acks],
            idempotent=idempotent,
            small_batches=small_batches,
        )
        return list(offsets) if acks != "0" else None

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
