"""Turns the charging of requests on with the first quota of a client, and off with the last."""

from collections.abc import Mapping
from typing import Protocol

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ports import Clock
from tidelog.broker.security.client_quotas import ClientQuotas, limits_clients, of_addresses
from tidelog.broker.security.mutation_quotas import MutationQuotas
from tidelog.broker.security.throttle_counts import ThrottleCounts
from tidelog.security.quotas.entity import Quotas
from tidelog.security.quotas.share import shared_quotas


class Charging(Protocol):
    """What requests are charged by: None while no client has a quota."""

    throttle: ClientQuotas | None
    mutations: MutationQuotas | None
    throttled: ThrottleCounts


class QuotaSwitch:
    def __init__(self, services: Charging, clock: Clock, config: BrokerConfig) -> None:
        self._services = services
        self._clients = ClientQuotas(
            clock,
            windows=config.int("quota.window.num"),
            window_ms=config.int("quota.window.size.seconds") * 1000,
            counts=services.throttled,
        )
        self._mutations = MutationQuotas(
            clock,
            windows=config.int("controller.quota.window.num"),
            window_ms=config.int("controller.quota.window.size.seconds") * 1000,
            counts=services.throttled,
        )
        self._quotas: Quotas = {}
        self._cores = 1
        self.address_rates: Mapping[str | None, float] = {}
        """New connections a second, by address; None is the default."""

    @property
    def span_seconds(self) -> float:
        """How often idle clients may be forgotten."""
        return self._clients.span_ms / 1000

    def follow(self, quotas: Quotas, cores: int = 1) -> None:
        """The quotas of the machine, which has so many cores, are these from the next request on, on open
        connections as well."""
        if quotas is self._quotas and cores == self._cores:
            return
        self._quotas, self._cores = quotas, cores
        own = shared_quotas(quotas, cores)
        self._clients.follow(own)
        self._mutations.follow(own)
        self.address_rates = of_addresses(own)
        is_on = limits_clients(quotas)
        self._services.throttle = self._clients if is_on else None
        self._services.mutations = self._mutations if is_on else None

    def forget_idle(self) -> None:
        if self._services.throttle is not None:
            self._clients.forget_idle()
