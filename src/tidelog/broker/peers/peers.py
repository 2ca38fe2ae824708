"""This broker's requests to other brokers: to one by its id, to the controller, or without a response.

Responses come in the order of the requests on one connection, so a slow request must not be queued ahead of a
quick one: callers name a lane, each lane has its own connections, and a busy lane gets another one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.base.ids import NodeId
from tidelog.base.ports import Network
from tidelog.broker.peers.call import PeerCall
from tidelog.broker.peers.link import Link
from tidelog.wire.message import Message

Address = tuple[str, int]
Resolve = Callable[[NodeId], Address | None]
CallHere = Callable[[int, int, Message], Awaitable[Any]]

LINKS_MAX = 8
"""Connections of one lane to one broker; beyond that, requests queue behind each other."""

RETRY_SECONDS = 0.05
RETRY_SECONDS_MAX = 0.5
LOOK_SECONDS = 0.25
"""How often a call to the controller checks that no other broker has become the controller."""

SENDS = "sends"
QUORUM = "quorum"
"""Calls to voters at the addresses that Raft knows, which are there before any registration."""


class PeerUnavailable(ConnectionError):
    """The broker has no known address, or there is no controller at the moment."""


class _Lane(NamedTuple):
    address: Address
    links: dict[Link, int]  # with the number of calls under way on each


class Peers:
    def __init__(
        self,
        network: Network,
        node_id: NodeId,
        resolve: Resolve,
        controller: Callable[[], NodeId | None],
        call_here: CallHere | None = None,
        *,
        resolve_sends: Resolve | None = None,
    ) -> None:
        """`call_here` serves requests to this very broker without a network.

        `resolve_sends` finds the addresses for `send` and the lane QUORUM; without it, `resolve` does.
        """
        self.node_id = node_id
        self._network = network
        self._resolve = resolve
        self._resolve_sends = resolve_sends or resolve
        self._controller = controller
        self.call_here = call_here
        self._client_id = f"broker-{node_id}"
        self._lanes: dict[tuple[NodeId, str], _Lane] = {}
        self._closed = False

    async def call(
        self,
        node_id: NodeId,
        api_key: int,
        version: int,
        request: Message,
        *,
        timeout: float,  # noqa: ASYNC109 - what is left of it is shared out here
        lane: str = "calls",
    ) -> Any:
        """Make one attempt. Raises OSError (TimeoutError too) without a response: the peer may have acted."""
        if node_id == self.node_id and self.call_here is not None:
            async with asyncio.timeout(timeout):
                return await self.call_here(api_key, version, request)
        links, link = self._pick(node_id, lane)
        links[link] += 1
        try:
            async with asyncio.timeout(timeout):
                answer = await link.call(api_key, version, request)
        except ProtocolError as error:
            self._drop(links, link)
            raise ConnectionError(f"the response of broker {node_id} cannot be read: {error}") from error
        except ConnectionError:
            self._free(links, link)  # it connects again when it is used again, after a back-off
            raise
        except BaseException:
            # Out of time or cancelled: the next request must not queue behind this one.
            self._drop(links, link)
            raise
        self._free(links, link)
        return answer

    def begin(
        self, node_id: NodeId, api_key: int, version: int, request: Message, *, deadline: float, lane: str
    ) -> PeerCall:
        """Make one attempt, on the connection of the lane's last such call, and without a task.

        The caller gives it up at the deadline. Raises OSError if the broker cannot be reached.
        """
        links, link = self._pick(node_id, lane, in_order=True)
        answer, read = link.begin(api_key, version, request)
        links[link] += 1

        def ended(is_usable: bool) -> None:
            if is_usable:
                self._free(links, link)
            else:
                self._drop(links, link)

        future = answer if type(answer) is asyncio.Future else asyncio.ensure_future(answer)
        return PeerCall(future, read, deadline, ended)

    def send(self, node_id: NodeId, api_key: int, version: int, request: Message) -> None:
        """Send without a response; the request is lost if the peer is out of reach. Never waits or raises."""
        try:
            _, link = self._pick(node_id, SENDS, in_order=True)
            link.send(api_key, version, request)
        except PeerUnavailable:
            pass

    async def call_controller(
        self,
        api_key: int,
        version: int,
        request: Message | Callable[[], Message],
        *,
        timeout: float,  # noqa: ASYNC109
        attempt_timeout: float = 5.0,
        lane: str = "controller",
    ) -> Any:
        """Ask the current controller until one responds as such. May be carried out more than once.

        A function as `request` makes a new one for each try. Raises OSError after `timeout` seconds.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        pause, problem = RETRY_SECONDS, "no controller is known"
        while (left := deadline - loop.time()) > 0:
            controller = self._controller()
            if controller is not None:
                asked = request if isinstance(request, Message) else request()
                attempt = self.call(
                    controller, api_key, version, asked, timeout=min(left, attempt_timeout), lane=lane
                )
                try:
                    answer = await self._while_controller(controller, attempt)
                    if getattr(answer, "error_code", 0) != ErrorCode.NOT_CONTROLLER:
                        return answer
                    problem = f"broker {controller} is not the controller any more"
                except OSError as error:
                    problem = f"broker {controller}: {str(error) or type(error).__name__}"
            await asyncio.sleep(min(pause, max(deadline - loop.time(), 0)))
            pause = min(2 * pause, RETRY_SECONDS_MAX)
        raise PeerUnavailable(f"no controller responded within {timeout:g} s: {problem}")

    async def _while_controller(self, controller: NodeId, attempt: Coroutine[Any, Any, Any]) -> Any:
        """A controller that is isolated or hangs may never respond: stop waiting once another one leads."""
        call = asyncio.get_running_loop().create_task(attempt)
        try:
            while not (await asyncio.wait([call], timeout=LOOK_SECONDS))[0]:
                now = self._controller()
                if now not in {None, controller}:
                    raise PeerUnavailable(f"broker {now} is the controller now")
            return call.result()
        finally:
            call.cancel()

    def forget(self, node_id: NodeId) -> None:
        """The broker is gone for good."""
        for key in [key for key in self._lanes if key[0] == node_id]:
            self._end(self._lanes.pop(key))

    def close(self) -> None:
        self._closed = True
        for lane in self._lanes.values():
            self._end(lane)
        self._lanes.clear()

    def _lane(self, node_id: NodeId, name: str) -> _Lane:
        address = (self._resolve_sends if name in {SENDS, QUORUM} else self._resolve)(node_id)
        if address is None or self._closed:
            raise PeerUnavailable(f"broker {node_id} has no address" if address is None else "stopping")
        lane = self._lanes.get((node_id, name))
        if lane is None or lane.address != address:
            if lane is not None:  # the broker was restarted at another address
                self._end(lane)
            lane = self._lanes[node_id, name] = _Lane(address, {})
        return lane

    def _pick(self, node_id: NodeId, name: str, *, in_order: bool = False) -> tuple[dict[Link, int], Link]:
        """Returns an idle link; else a new one, up to a limit; else the least busy. In order: the first."""
        address, links = self._lane(node_id, name)
        best = next(iter(links), None) if in_order else min(links, key=links.__getitem__, default=None)
        if best is None or (links[best] and len(links) < LINKS_MAX and not in_order):
            best = Link(self._network.connect(*address), self._client_id)
            links[best] = 0
        return links, best

    @staticmethod
    def _free(links: dict[Link, int], link: Link) -> None:
        if link in links:
            links[link] -= 1

    @staticmethod
    def _drop(links: dict[Link, int], link: Link) -> None:
        links.pop(link, None)
        link.close()

    @staticmethod
    def _end(lane: _Lane) -> None:
        for link in lane.links:
            link.close()
        lane.links.clear()
