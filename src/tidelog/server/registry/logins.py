"""The authentication that `schema.registry.authentication` asks for, with the broker's users and tokens.

Settings of SASL hold as they do for a listener of the name HTTP: `sasl.users.file`,
`sasl.oauthbearer.jwks.endpoint.url` and the others.
"""

from tidelog.base.config.config import BrokerConfig
from tidelog.broker.requests.context import Services
from tidelog.broker.security.sasl_listener import Mechanism, Parts, oauthbearer, users_of
from tidelog.security.audit.event import Actor
from tidelog.security.sasl.plain_server import PlainServer
from tidelog.server.node_ports import Threads
from tidelog.server.registry.authentication import (
    BASIC,
    BEARER,
    SASL_OF,
    HttpAuthentication,
    Unauthenticated,
)

LISTENER = "HTTP"


def authentication_of(
    config: BrokerConfig, services: Services, threads: Threads
) -> HttpAuthentication | None:
    """None where clients do not authenticate. Raises ConfigError."""
    schemes = {name.title() for name in config.list("schema.registry.authentication")}
    if not schemes:
        return None
    parts = Parts(
        config,
        lambda: services.metadata.image,
        services.clock,
        services.random,
        threads.run,
        threads.run,
        services.inter_broker_listener,
    )
    mechanisms = {}
    users = users_of(SASL_OF[BASIC], LISTENER, config.for_listener(LISTENER, SASL_OF[BASIC]), parts)
    if BASIC in schemes:
        mechanisms[BASIC] = Mechanism(
            lambda: PlainServer(users.is_password, users.is_configured), parts.run_password, 0
        )
    if BEARER in schemes:
        values = config.for_listener(LISTENER, SASL_OF[BEARER])
        mechanisms[BEARER] = Mechanism(oauthbearer(values, parts), parts.run_token, 0)
    return HttpAuthentication(mechanisms, services.clock, users.credentials)


def note_refusal(services: Services, host: str, error: Unauthenticated) -> None:
    """A client was not authenticated: count it, and tell the audit record."""
    mechanism = SASL_OF.get(error.scheme, "unknown")
    services.authentication_failures[LISTENER, mechanism] += 1
    if services.audit is not None:
        actor = Actor("User:ANONYMOUS", host, LISTENER)
        services.audit.authentication_failed(actor, mechanism, error.user, str(error))
