"""Requests between brokers that arrive long after their sender has given them up.

A connection breaks, its sender asks again on the next one, and what lay in a buffer on the way arrives last.
The protocol must tell such a request from one of the present, by an epoch or by a number.
"""

import random
from collections.abc import Container

from tidelog.wire.apis import ApiKey
from tidelog.wire.codec import decoder
from tidelog.wire.frame import read_request_header
from tidelog.wire.messages.write_txn_markers import WriteTxnMarkersRequest

EPOCH_BUMPS = 2

Window = tuple[float, float]


class Lateness:
    def __init__(self, chance: random.Random) -> None:
        self._random = chance
        self._rate = 0.0
        self._hosts: Container[str] = ()
        self._apis: Container[int] | None = None
        self._seconds: Window = (0.0, 0.0)

    def begin(
        self, rate: float, hosts: Container[str], seconds: Window, apis: Container[int] | None = None
    ) -> None:
        """The part of requests from these hosts, of these APIs (None: of all), that come so much later."""
        self._rate, self._hosts, self._seconds, self._apis = rate, hosts, seconds, apis

    def end(self) -> None:
        self._rate = 0.0

    def of(self, frame: bytearray, host: str) -> float | None:
        """How many seconds later the frame arrives; None: in its time."""
        if not self._rate or host not in self._hosts:
            return None
        if self._apis is not None and api_of(frame) not in self._apis:
            return None
        if self._random.random() >= self._rate:
            return None
        return self._random.uniform(*self._seconds)


def api_of(frame: bytearray) -> int:
    return int.from_bytes(frame[:2])


def must_be_in_time(frame: bytearray) -> bool:
    """In the first protocol nothing tells a marker of the last transaction from one of the present (KIP-890).

    Not even where its coordinator has died since: a partition refuses markers with the epoch of an earlier
    coordinator, but only once it has one of a later coordinator.
    """
    if api_of(frame) != ApiKey.WRITE_TXN_MARKERS:
        return False
    view = memoryview(frame)
    header, position = read_request_header(view)
    request = decoder(WriteTxnMarkersRequest, header.api_version)(view, position)
    return any(marker.transaction_version < EPOCH_BUMPS for marker in request.markers)
