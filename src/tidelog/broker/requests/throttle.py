"""Where quotas take hold: each request is charged, and its response says how long the client must pause.

The connection enforces the pause (KIP-219), so a client that ignores the number gains nothing. While no
quota is set, `Services.throttle` is None, and none of this is called.
"""

from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar

from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.forwarding import BETWEEN_BROKERS, SHARE_STATE
from tidelog.broker.security.client_quotas import UNLIMITED
from tidelog.broker.security.request_charge import RequestCharge
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.apis import ApiKey

PRODUCE = int(ApiKey.PRODUCE)
OF_BROKERS = BETWEEN_BROKERS | SHARE_STATE | {ApiKey.WRITE_TXN_MARKERS}
FIRST_VERSION_OF_BROKERS = {ApiKey.ADD_PARTITIONS_TO_TXN: 4}

ResultT = TypeVar("ResultT")


def charge_of(
    services: Services,
    connection: ClientConnection,
    client_id: str | None,
    api_key: int,
    *,
    version: int,
    request_bytes: int,
) -> RequestCharge | None:
    """Returns None for a request that is not limited. The bytes of a Produce are charged here."""
    quotas, gate = services.throttle, connection.gate
    if quotas is None or (gate is not None and not gate.is_open):
        return None  # before it is authenticated, a client has no user; the gate has limits of its own
    if connection.listener == services.inter_broker_listener and _is_of_a_broker(
        services, connection, api_key, version
    ):
        return None
    limits = quotas.limits_of(connection.principal, client_id)
    if limits is UNLIMITED:
        return None
    charge = RequestCharge(quotas, limits)
    if api_key == PRODUCE:
        charge.produced(request_bytes)
    return charge


def _is_of_a_broker(services: Services, connection: ClientConnection, api_key: int, version: int) -> bool:
    """Whether a request on the listener between brokers is one of theirs.

    Brokers are never throttled: they share connections, and a pause would stop the whole cluster.

    Fetches of followers are recognised by their handler. Where there is no authorizer, clients may share the
    listener and the principal with the brokers, and only APIs tell them apart.
    """
    if api_key in OF_BROKERS or version >= FIRST_VERSION_OF_BROKERS.get(api_key, version + 1):  # type: ignore[call-overload]
        return True
    authorizer = services.authorizer
    return authorizer is not None and authorizer.allows_on_cluster(
        connection.principal, connection.host, Operation.CLUSTER_ACTION
    )


class Timed(Generic[ResultT]):
    """A coroutine whose steps are charged; what the loop does between them is not."""

    __slots__ = ("_charge", "_work")

    def __init__(self, work: Awaitable[ResultT], charge: RequestCharge) -> None:
        self._work = work
        self._charge = charge

    def __await__(self) -> Generator[Any, Any, ResultT]:
        charge, steps = self._charge, self._work.__await__()
        step, given = steps.send, None
        while True:
            charge.resume()
            try:
                waits_for = step(given)
            except StopIteration as end:
                result: ResultT = end.value
                return result
            finally:
                charge.rest()
            try:
                given, step = (yield waits_for), steps.send
            except BaseException as error:
                given, step = error, steps.throw
