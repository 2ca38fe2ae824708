"""Logs that speak other protocols, beside Tidelog and Apache Kafka: NATS JetStream and RabbitMQ streams.

server.py      a server of another kind as one of the systems of a comparison
jetstream.py, rabbitmq_stream.py   what is spoken with them, over a bare socket
nats.py, rabbitmq.py               how each is started, from Debian's packages
window.py      the loop that sends prebuilt bytes and counts what is confirmed
"""

from benches.versus.rivals.nats import Nats
from benches.versus.rivals.rabbitmq import RabbitMq
from benches.versus.rivals.server import Rival

RIVALS: tuple[type[Rival], ...] = (Nats, RabbitMq)
