"""The schema registry of a broker: its coordinator and its service, and the port where the network is real.

Imported only where `schema.registry.port` is set.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from tidelog.base.config.config import BrokerConfig
from tidelog.broker.registry.coordinator import RegistryCoordinator
from tidelog.broker.registry.lazy import LazyRegistry
from tidelog.broker.requests.context import Services
from tidelog.metadata.topics.names import SCHEMAS
from tidelog.server.disk_threads import DiskThreads
from tidelog.server.node_ports import Threads
from tidelog.server.registry.setup import RegistryPort
from tidelog.server.short_turns import in_short_turns

WAITING_MAX = 64
"""Schemas that wait to be checked; beyond it clients are told to come again."""


def put_registry(opened: AsyncExitStack, services: Services, threads: Threads, *, own_threads: bool) -> None:
    """Schemas are checked on a thread of their own: a flood of them must not delay the disk, nor the loop."""
    run = threads.run
    if own_threads:
        checking = DiskThreads("schemas", threads=1, waiting_max=WAITING_MAX)
        opened.push_async_callback(checking.close)

        def run(job: Callable[[], Any]) -> "asyncio.Future[Any]":
            return checking.run(partial(in_short_turns, job))

    coordinator = RegistryCoordinator(services.coordinators)
    services.registry = LazyRegistry(services, coordinator, run)
    services.written_by_brokers |= {SCHEMAS}


def open_registry(opened: AsyncExitStack, config: BrokerConfig, services: Services) -> RegistryPort:
    """Passwords and tokens are checked on threads of their own, which begin with the first of them."""
    passwords = DiskThreads("registry-logins", threads=1, waiting_max=1_000)
    opened.push_async_callback(passwords.close)
    return RegistryPort(opened, config, services, passwords)
