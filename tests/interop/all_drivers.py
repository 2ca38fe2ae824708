"""Every client there is, by name."""

from typing import Any, NamedTuple

from tests.interop.drivers import aiokafka_client, confluent, franz_go, java, kafka_python, kafkajs, kcat


class Client(NamedTuple):
    driver: type[Any]
    """What it can do shows in the methods it has."""
    missing_tool: str | None
    """Why it cannot run here, with the way to change that; None where it can."""


CLIENTS = {
    client.driver.name: client
    for client in (
        Client(confluent.Driver, None),
        Client(aiokafka_client.Driver, None),
        Client(kafka_python.Driver, None),
        Client(kcat.Driver, kcat.missing_tool()),
        Client(java.Driver, java.missing_tool()),
        Client(java.OlderDriver, java.missing_tool()),
        Client(kafkajs.Driver, kafkajs.missing_tool()),
        Client(franz_go.Driver, franz_go.missing_tool()),
    )
}
