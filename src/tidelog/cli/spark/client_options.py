"""Client properties for Spark: what the data source knows of them, and secrets by reference."""

from tidelog.blocking.registry.properties import is_registry_property
from tidelog.blocking.secret_names import is_secret_name
from tidelog.cli.context.chosen import ChosenConnection
from tidelog.cli.session import Session
from tidelog.spark.secrets import by_reference

OF_LIBRDKAFKA_ALONE = ("socket.", "broker.address.", "log_level", "debug")


def check_connection(session: Session) -> None:
    """Before Spark starts: a wrong address or password shall not cost ten seconds. Raises CliError."""
    from tidelog.cli.direct.cluster import DirectCluster
    from tidelog.wire.messages.metadata import MetadataRequest

    DirectCluster(session).ask(MetadataRequest(topics=[]))


def client_options(chosen: ChosenConnection, *, is_remote: bool = False) -> dict[str, str]:
    """By Kafka's names. Call it before Spark starts: secrets may move to the environment that it inherits.

    Only secrets stay variables, since the data source resolves no others.
    """
    known = {
        name: chosen.written[name] if is_secret_name(name) and not is_remote else value
        for name, value in chosen.properties.items()
        if not name.startswith(OF_LIBRDKAFKA_ALONE) and not is_registry_property(name)
    }
    return known if is_remote else by_reference(known)
