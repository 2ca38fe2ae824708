"""What a simulated member of a share group cannot know and its history should have: the leader epoch that its
broker serves in, and the range in which the brokers' wall clocks are."""

from collections.abc import Callable
from typing import NamedTuple

from tidelog.testing.share_history import UNKNOWN_EPOCH
from tidelog.testing.sim.clients.client import Address

Leads = Callable[[Address, str, int], tuple[str, int] | None]
"""The process at an address and the epoch in which it leads a partition; None if it does not."""


class ClockRange(NamedTuple):
    """The wall clocks of brokers jump. A time that was set by one is compared by another."""

    earliest_ms: int
    latest_ms: int


class ShareSight(NamedTuple):
    leads: Leads
    clocks: Callable[[], ClockRange]

    def before(self, address: Address, places: list[tuple[str, int]]) -> "Look":
        return Look(self, address, {place: self.leads(address, *place) for place in places})


class Look(NamedTuple):
    """A look at a broker when a request to it begins."""

    sight: ShareSight
    address: Address
    leaders: dict[tuple[str, int], tuple[str, int] | None]

    @property
    def broker(self) -> str:
        """The process, if it leads any of the partitions."""
        return next((led[0] for led in self.leaders.values() if led is not None), "")

    def epoch(self, place: tuple[str, int]) -> int:
        """The epoch in which the broker led from the request to its answer."""
        led = self.leaders.get(place)
        if led is None or self.sight.leads(self.address, *place) != led:
            return UNKNOWN_EPOCH
        return led[1]
