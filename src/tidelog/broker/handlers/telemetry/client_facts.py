"""What the broker knows of a client that pushes metrics: subscriptions are matched with it."""

from tidelog.base.ids import Uuid
from tidelog.broker.requests.context import Context
from tidelog.metrics.clients.subscription import FACT_CHARS_MAX, ClientFacts


def facts_of(context: Context, instance_id: Uuid) -> ClientFacts:
    connection = context.connection
    return ClientFacts(
        instance_id,
        (context.client_id or "")[:FACT_CHARS_MAX],
        connection.software_name[:FACT_CHARS_MAX],
        connection.software_version[:FACT_CHARS_MAX],
        connection.host,
        connection.port,
    )
