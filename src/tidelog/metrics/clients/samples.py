"""A client's last values as samples of a page; attributes that many metrics have become labels."""

from collections.abc import Iterator

from tidelog.base.ids import uuid_text
from tidelog.metrics.clients.instance import ClientInstance
from tidelog.metrics.clients.otlp import TEXT_CHARS_MAX, Attributes
from tidelog.metrics.families.clients import COUNTER, VALUE
from tidelog.metrics.page import Page

_LABELS = {"group_id": 0, "topic": 1, "partition": 2, "node_id": 3}
_SAID_ALREADY = frozenset({"client_id", "client_instance_id"})
_SAMPLES_PER_TURN = 100


def add_samples(page: Page, instance: ClientInstance) -> Iterator[None]:
    client = instance.client
    software = f"{client.software_name}/{client.software_version}" if client.software_name else ""
    who = (client.client_id[:TEXT_CHARS_MAX], uuid_text(client.instance_id), software[:TEXT_CHARS_MAX])
    seen: set[tuple[str, ...]] = set()
    for number, ((metric, attributes), (value, is_counter)) in enumerate(instance.values.items()):
        labels = (metric, *who, *labels_of(attributes))
        if labels not in seen:  # Prometheus refuses a page with a series twice
            seen.add(labels)
            page.add(COUNTER if is_counter else VALUE, value, *labels)
        if number % _SAMPLES_PER_TURN == _SAMPLES_PER_TURN - 1:
            yield
    yield


def labels_of(attributes: Attributes) -> tuple[str, ...]:
    """Group, topic, partition, node, and all others in one text."""
    known = ["", "", "", ""]
    others: list[str] = []
    for key, text in attributes:
        plain = key.replace("-", "_").replace(".", "_")
        if plain in _LABELS:
            known[_LABELS[plain]] = text
        elif plain not in _SAID_ALREADY:
            others.append(f"{plain}={text}")
    return (*known, ",".join(sorted(others))[:TEXT_CHARS_MAX])
