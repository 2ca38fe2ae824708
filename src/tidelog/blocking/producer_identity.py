"""The producer id and epoch that a coordinator gives out; each newer epoch fences the older ones."""

from typing import NamedTuple


class ProducerIdentity(NamedTuple):
    producer_id: int = -1
    epoch: int = -1
