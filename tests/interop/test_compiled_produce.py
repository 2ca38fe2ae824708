"""Real clients at a broker whose plain produce requests are served by compiled code."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any

import pytest

import tidelog.testing
from tests.interop.all_drivers import CLIENTS
from tests.interop.driver import CODECS, Record
from tests.rigs.native import compiled_module
from tidelog.broker.native.plain_produce import MODULE

COUNT = 400
WRITERS = [
    name
    for name, client in CLIENTS.items()
    if hasattr(client.driver, "takes_many") and not client.missing_tool
]


@pytest.fixture
def served() -> Iterator[tuple[str, list[object]]]:
    """The broker's address, and what compiled code answered."""
    module, done = compiled_module(), []

    def produce(*arguments: Any) -> Any:
        done.append(module.produce(*arguments))
        return done[-1]

    found = SimpleNamespace(SOURCE=module.SOURCE, bind=module.bind, produce=produce)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, MODULE, found)  # type: ignore[arg-type]
        with tidelog.testing.Broker(settings={"produce.compiled": "on"}) as broker:
            yield broker.bootstrap_servers, done


def test_every_client_writes_and_reads_in_order(served: tuple[str, list[object]]) -> None:
    address, done = served
    with ExitStack() as opened:
        clients = {name: opened.enter_context(closing(CLIENTS[name].driver(address))) for name in WRITERS}
        reference = clients["confluent"]
        reference.create_topic("orders", 1)

        def write(name: str) -> None:
            for number, codec in enumerate(CODECS):
                records = [Record(name.encode(), b"%d" % (number * COUNT + n)) for n in range(COUNT)]
                clients[name].produce(
                    "orders", records, idempotent=bool(number % 2), small_batches=True, codec=codec
                )

        with ThreadPoolExecutor(len(WRITERS)) as pool:
            list(pool.map(write, WRITERS))
        got = reference.consume("orders", 0, len(CODECS) * COUNT * len(WRITERS))
        for name in WRITERS:
            mine = [record.value for record in got if record.key == name.encode()]
            assert mine == [b"%d" % number for number in range(len(CODECS) * COUNT)], name
    plain = [one for one in done if one is not None]
    assert len(plain) > 0.9 * len(done) > 100
