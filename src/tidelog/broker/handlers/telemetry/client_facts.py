"""What the broker knows of a client that pushes metrics: subscriptions are matched with it."""

from tidelog.base.ids import Uuid
from tidelog.broker.requests.context import Context
from tidelog.metrics.clients.subscription import ClientFacts


def facts_of(context: Context, instance_id: Uuid) -> ClientFacts:
    connection = context.connection
    return ClientFacts(
        instance_id,
        context.client_id or "",
        connection.software_name,
        connection.software_version,
        connection.host,
        connection.port,
    )
