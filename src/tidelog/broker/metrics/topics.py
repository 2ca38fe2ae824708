"""Traffic by topic, from the counters that the partitions of a topic share."""

from collections.abc import Iterator
from typing import TypeAlias

from tidelog.metrics.families import topics as families
from tidelog.metrics.families.storage import APPENDED_BYTES
from tidelog.metrics.page import Page
from tidelog.replication.traffic import TopicTraffic, TrafficBook

TOPICS_A_TURN = 50

TopicSums: TypeAlias = dict[TopicTraffic, list[int]]
"""Bytes of the topic's logs, and partitions that this broker leads."""


def add_topics(
    page: Page, traffic: TrafficBook, sums: TopicSums, replication_sent_bytes: int
) -> Iterator[None]:
    page.add(families.REPLICATION_RECEIVED_BYTES, traffic.copied_bytes)
    page.add(families.REPLICATION_SENT_BYTES, replication_sent_bytes)
    page.add(APPENDED_BYTES, traffic.received_bytes + traffic.copied_bytes)
    for number, topic in enumerate(traffic, 1):
        size, led = sums.get(topic, (0, 0))
        labels = page.braces(families.RECEIVED_BYTES, topic.topic)
        page.add_rows(families.RECEIVED_BYTES, [(labels, topic.received_bytes)])
        page.add_rows(families.RECEIVED_RECORDS, [(labels, topic.received_records)])
        page.add_rows(families.SENT_BYTES, [(labels, topic.sent_bytes)])
        page.add_rows(families.REFUSED_BATCHES, [(labels, topic.refused_batches)])
        page.add_rows(families.SIZE_BYTES, [(labels, size)])
        page.add_rows(families.PARTITIONS, [(labels, led)])
        if number % TOPICS_A_TURN == 0:
            yield
