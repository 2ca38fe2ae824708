"""What a broker has of security only where its settings ask for it: the gates of SASL, the authorizer."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from tidelog.base.config.config import BrokerConfig
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Services
from tidelog.broker.security.authorizer import Authorizer, authorizer_of
from tidelog.server.disk_threads import DiskThreads
from tidelog.server.node_ports import Threads


def gates_of(
    opened: AsyncExitStack, services: Services, config: BrokerConfig, threads: Threads, *, own_threads: bool
) -> Callable[[ClientConnection], None]:
    """Passwords and tokens are checked on threads of their own: a flood of them must not delay the disk,
    nor a slow identity provider the passwords."""
    # Clusters without SASL start without it.
    from tidelog.broker.requests.gate import gates
    from tidelog.broker.security.sasl_listener import Parts, sasl_listeners

    passwords = tokens = threads
    if own_threads:
        passwords = DiskThreads("passwords", threads=2, waiting_max=1_000)
        tokens = DiskThreads("tokens", threads=2, waiting_max=1_000)
        opened.push_async_callback(passwords.close)
        opened.push_async_callback(tokens.close)
    parts = Parts(
        config,
        lambda: services.metadata.image,
        services.clock,
        services.random,
        passwords.run,
        tokens.run,
        services.inter_broker_listener,
    )
    return gates(
        sasl_listeners(parts), services.clock, lambda: services.audit, services.authentication_failures
    )


def authorizer_following(config: BrokerConfig, metadata: MetadataService) -> Authorizer | None:
    """Follows the metadata from the first entry on, and ahead of every other stage: a permission that is
    revoked must not be used while these work."""
    authorizer = authorizer_of(config)
    if authorizer is not None:
        authorizer.follow(metadata.image)
        metadata.on_change(lambda delta: authorizer.follow(delta.after))
    return authorizer
