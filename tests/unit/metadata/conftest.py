"""Small clusters and topics for the tests of decisions."""

from collections.abc import Callable

import pytest

from tidelog.base.ids import Uuid, uuid_text
from tidelog.metadata.image import ClusterImage, advance
from tidelog.metadata.records import BrokerRegistered, ClusterCreated, Endpoint


def numbered_id(number: int) -> Uuid:
    return number.to_bytes(16, "big")


@pytest.fixture
def new_id() -> Callable[[], Uuid]:
    """Ids 1, 2, 3... in place of random ones."""
    given = iter(range(1, 1_000_000))
    return lambda: numbered_id(next(given))


@pytest.fixture
def cluster() -> Callable[..., ClusterImage]:
    """Makes an image with brokers 1 to n; racks by broker; those in `fenced` are fenced."""

    def make(
        brokers: int = 1, *, racks: dict[int, str] | None = None, fenced: tuple[int, ...] = ()
    ) -> ClusterImage:
        records = [ClusterCreated("test-cluster")] + [
            BrokerRegistered(
                broker,
                epoch=broker,
                incarnation=uuid_text(numbered_id(1000 + broker)),
                endpoints=(Endpoint("PLAINTEXT", "localhost", 9092 + broker),),
                rack=(racks or {}).get(broker),
                directories=(uuid_text(numbered_id(2000 + broker)),),
                fenced=broker in fenced,
            )
            for broker in range(1, brokers + 1)
        ]
        return advance(ClusterImage(), records).after

    return make
