"""What one client writes with any codec, every other client reads byte for byte; and all of them at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.interop.all_drivers import CLIENTS
from tests.interop.driver import CODECS, EARLIEST, LATEST, Record, contents
from tests.interop.samples import AWKWARD, writable_by

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


def test_all_clients_write_one_partition_at_once(
    open_client: Callable[[str], Any], reference: Any, topic: str
) -> None:
    writers = [name for name, client in CLIENTS.items() if hasattr(client.driver, "takes_many")]
    clients = {name: open_client(name) for name in writers}

    def write(name: str) -> None:
        records = [Record(name.encode(), b"%d" % number) for number in range(1_000)]
        clients[name].produce(topic, records, idempotent=True, small_batches=True, codec="lz4")

    with ThreadPoolExecutor(len(writers)) as pool:
        list(pool.map(write, writers))
    got = reference.consume(topic, 0, 1_000 * len(writers))
    assert reference.find_offset(topic, LATEST) == len(got)
    for name in writers:
        mine = [record.value for record in got if record.key == name.encode()]
        assert mine == [b"%d" % number for number in range(1_000)], name
