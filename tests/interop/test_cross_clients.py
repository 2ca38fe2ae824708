"""What one client writes with any codec, every other client reads byte for byte."""

from collections.abc import Callable
from typing import Any

import pytest
from all_drivers import CLIENTS
from driver import CODECS, EARLIEST, contents
from samples import AWKWARD, writable_by

READERS = [name for name, client in CLIENTS.items() if hasattr(client.driver, "consume")]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.needs("produce")
def test_every_reader_sees_what_was_written(
    client: Any, open_client: Callable[[str], Any], topic: str, codec: str
) -> None:
    records = writable_by(client, AWKWARD)
    client.produce(topic, records, codec=codec)
    for reader in READERS:
        assert contents(open_client(reader).consume(topic, EARLIEST, len(records))) == contents(records), (
            reader
        )
