"""A client's last values as samples of a page."""

from collections.abc import Iterator

from tidelog.base.ids import uuid_text
from tidelog.metrics.clients.instance import ClientInstance
from tidelog.metrics.clients.otlp import TEXT_CHARS_MAX
from tidelog.metrics.families.clients import COUNTER, VALUE
from tidelog.metrics.page import Page

_SAMPLES_PER_TURN = 100


def add_samples(page: Page, instance: ClientInstance) -> Iterator[None]:
    client = instance.client
    software = f"{client.software_name}/{client.software_version}" if client.software_name else ""
    who = (client.client_id[:TEXT_CHARS_MAX], uuid_text(client.instance_id), software[:TEXT_CHARS_MAX])
    for number, ((metric, labels), (value, is_counter)) in enumerate(instance.values.items()):
        page.add(COUNTER if is_counter else VALUE, value, metric, *who, *labels)
        if number % _SAMPLES_PER_TURN == _SAMPLES_PER_TURN - 1:
            yield
    yield
