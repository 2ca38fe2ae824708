"""Changes of topics, their partitions and records, and of groups."""

from collections.abc import Iterator
from typing import Any

from tidelog.base.ids import uuid_text
from tidelog.base.topic_settings import TOPIC_SETTINGS
from tidelog.broker.security.audit.change import AuditedChange, shown


def create_topics(request: Any, response: Any) -> Iterator[AuditedChange]:
    wanted = {topic.name: topic for topic in request.topics}
    for result in response.topics:
        topic = wanted[result.name]
        details = [("partitions", str(max(topic.num_partitions, len(topic.assignments))))]
        details += [(each.name, shown(TOPIC_SETTINGS, each.name, each.value)) for each in topic.configs]
        yield AuditedChange("TOPIC", result.name, result.error_code, tuple(details))


def delete_topics(_request: Any, response: Any) -> Iterator[AuditedChange]:
    for result in response.responses:
        yield AuditedChange("TOPIC", result.name or uuid_text(result.topic_id), result.error_code)


def create_partitions(request: Any, response: Any) -> Iterator[AuditedChange]:
    counts = {topic.name: topic.count for topic in request.topics}
    for result in response.results:
        details = (("partitions", str(counts[result.name])),)
        yield AuditedChange("TOPIC", result.name, result.error_code, details)


def elect_leaders(request: Any, response: Any) -> Iterator[AuditedChange]:
    details = (("election_type", str(request.election_type)),)
    if response.error_code:
        yield AuditedChange("PARTITION", "", response.error_code, details)
    for topic in response.replica_election_results:
        for part in topic.partition_result:
            yield AuditedChange("PARTITION", f"{topic.topic}-{part.partition_id}", part.error_code, details)


def reassign(request: Any, response: Any) -> Iterator[AuditedChange]:
    replicas = {
        (topic.name, part.partition_index): "cancelled" if part.replicas is None else str(part.replicas)
        for topic in request.topics
        for part in topic.partitions
    }
    if response.error_code:
        yield AuditedChange("PARTITION", "", response.error_code)
    for topic in response.responses:
        for part in topic.partitions:
            details = (("replicas", replicas.get((topic.name, part.partition_index), "")),)
            yield AuditedChange("PARTITION", f"{topic.name}-{part.partition_index}", part.error_code, details)


def delete_records(request: Any, response: Any) -> Iterator[AuditedChange]:
    offsets = {
        (topic.name, part.partition_index): part.offset
        for topic in request.topics
        for part in topic.partitions
    }
    for topic in response.topics:
        for part in topic.partitions:
            details = (("before_offset", str(offsets.get((topic.name, part.partition_index), ""))),)
            yield AuditedChange("PARTITION", f"{topic.name}-{part.partition_index}", part.error_code, details)


def delete_groups(_request: Any, response: Any) -> Iterator[AuditedChange]:
    for result in response.results:
        yield AuditedChange("GROUP", result.group_id, result.error_code)


def delete_offsets(request: Any, response: Any) -> Iterator[AuditedChange]:
    if response.error_code:
        yield AuditedChange("GROUP", request.group_id, response.error_code)
    for topic in response.topics:
        for part in topic.partitions:
            details = (("partition", f"{topic.name}-{part.partition_index}"),)
            yield AuditedChange("GROUP", request.group_id, part.error_code, details)


def move_log_dirs(request: Any, response: Any) -> Iterator[AuditedChange]:
    paths = {
        (topic.name, index): each.path
        for each in request.dirs
        for topic in each.topics
        for index in topic.partitions
    }
    for topic in response.results:
        for part in topic.partitions:
            details = (("log_dir", paths.get((topic.topic_name, part.partition_index), "")),)
            yield AuditedChange(
                "PARTITION", f"{topic.topic_name}-{part.partition_index}", part.error_code, details
            )
