"""A broker that is killed and started again knows what its share groups have done."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.broker_process import BrokerProcess, free_port
from tests.interop.driver import ConfigChange, Record
from tests.interop.drivers import confluent
from tests.interop.drivers.java import Driver, missing_tool
from tests.interop.shares.member import ShareMember

TOPIC, GROUP = "jobs", "workers"


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[tuple[BrokerProcess, Any, Any]]:
    if (missing := missing_tool()) is not None:
        pytest.skip(missing)
    port = free_port()
    broker = BrokerProcess.start(tmp_path, port)
    java, python = Driver(broker.address), confluent.Driver(broker.address)
    yield broker, java, python
    java.close()
    python.close()
    broker.stop()


def test_what_is_done_stays_done_though_the_broker_is_killed(
    clients: tuple[BrokerProcess, Any, Any], tmp_path: Path
) -> None:
    broker, java, python = clients
    java.create_topic(TOPIC)
    java.alter_configs("group", GROUP, [ConfigChange("set", "share.auto.offset.reset", "earliest")])
    java.produce(TOPIC, [Record(None, b"%d" % number) for number in range(6)])
    members: list[ShareMember] = [one.join_share(GROUP, TOPIC, explicit=True) for one in (java, python)]
    first = members[0].take_all(6)
    members[0].settle([first[0], first[3]])
    members[0].settle([first[1]], "reject")
    members[0].settle([first[2]], "release")
    assert members[0].flush() == {(TOPIC, 0): 0}
    broker.kill()
    again = BrokerProcess.start(tmp_path, int(broker.address.rpartition(":")[2]))
    broker.process = again.process
    # The one that held records cannot answer for them any more; the other gets all that is not done.
    came = {record.offset: record.deliveries for record in members[1].take_all(3)}
    assert came.keys() == {2, 4, 5}
    assert came[2] == 2
    for member in members:
        member.close()
