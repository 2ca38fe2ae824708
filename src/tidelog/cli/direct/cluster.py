"""The brokers of a cluster, asked over our own codec for what librdkafka cannot ask.

Any broker will do for what the controller decides: it passes the request on. While the controller changes,
the question is asked again until the session's time is up.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.cli.connection import as_told, parse_servers, unreachable
from tidelog.cli.direct.call import NoAnswer, call, is_plain
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.clients.connection import find_mismatch
from tidelog.clients.listener_probe import Listener, find_listener
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.message import Message

Address = tuple[str, int]
PAUSE_S = 0.2
# What a broker says while nobody leads the cluster's metadata, or another one does since a moment.
PASSING = (ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE)


class DirectCluster:
    def __init__(
        self,
        session: Session,
        *,
        send: Callable[..., Any] = call,
        find: Callable[[str, int], Listener | None] = find_listener,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not is_plain(session):
            raise CliError(
                "This command works over a plain connection only.",
                cause="librdkafka does not offer its requests; Tidelog sends them itself, without TLS "
                "and SASL.",
                attempt="-b with a listener of the brokers that is neither encrypted nor authenticated",
            )
        self.session = session
        self._servers = parse_servers(session.servers)
        self._versions: dict[Address, dict[int, tuple[int, int]]] = {}
        self._send, self._find, self._now, self._sleep = send, find, now, sleep

    def for_seconds(self, limit_s: float) -> "DirectCluster":
        """The same brokers, asked with less patience."""
        session = replace(self.session, timeout_s=min(limit_s, self.session.timeout_s))
        other = DirectCluster(session, send=self._send, find=self._find, now=self._now, sleep=self._sleep)
        other.learn(self._servers)
        return other

    def learn(self, addresses: Iterable[Address]) -> None:
        """More brokers to turn to when those that were named are away."""
        self._servers += [address for address in addresses if address not in self._servers]

    def ask(self, api: ApiKey, request: Message, *, oldest: int = 0) -> Any:
        """Of any broker that answers; `oldest` is the first version that says what we need to know."""
        deadline = self._now() + self.session.timeout_s
        while True:
            answer = self._ask_anyone(api, request, oldest)
            code = getattr(answer, "error_code", 0)
            if code not in PASSING or self._now() >= deadline:
                return answer
            self._sleep(PAUSE_S)

    def _ask_anyone(self, api: ApiKey, request: Message, oldest: int) -> Any:
        failures = []
        for place, address in enumerate(self._servers):
            try:
                answer = self.ask_broker(address, api, request, oldest=oldest)
            except OSError as error:
                failures.append(error)
                continue
            # The next question goes to the one that answered, not to the dead ones before it.
            self._servers = [*self._servers[place:], *self._servers[:place]]
            return answer
        if any(isinstance(failure, ConnectionResetError | BrokenPipeError) for failure in failures):
            self._raise_if_it_speaks_otherwise(self.session.servers)
        if any(isinstance(failure, NoAnswer) for failure in failures):
            raise CliError(
                f"No broker at {self.session.servers} answered within {self.session.timeout_s:g} s.",
                cause="there is no controller, as too few voters are up; or the broker is overloaded.",
                attempt="tidelog cluster status; or the same with --timeout 60",
                code=Exit.TIMED_OUT,
            )
        raise unreachable(self.session.servers, failures)

    def ask_broker(self, address: Address, api: ApiKey, request: Message, *, oldest: int = 0) -> Any:
        """Of one broker alone. OSError where it is away."""
        try:
            version = self._version(address, api, oldest)
            return self._send(address, api, version, request, self.session.timeout_s)
        except ProtocolError as error:
            host, port = address
            self._raise_if_it_speaks_otherwise(f"{host}:{port}")
            raise CliError(f"{host}:{port} does not answer as a Kafka broker does: {error}.") from error

    def _raise_if_it_speaks_otherwise(self, servers: str) -> None:
        """A listener with TLS or SASL hangs up on a plain client, or its answer looks like nonsense."""
        if (found := find_mismatch(servers, "plaintext", self._find)) is not None:
            raise as_told(found)

    def _version(self, address: Address, api: ApiKey, oldest: int) -> int:
        from tidelog.wire.messages.api_versions import ApiVersionsRequest

        if address not in self._versions:
            answer = self._send(address, ApiKey.API_VERSIONS, 0, ApiVersionsRequest(), self.session.timeout_s)
            self._versions[address] = {
                row.api_key: (row.min_version, row.max_version) for row in answer.api_keys
            }
        lowest, highest = self._versions[address].get(api, (0, -1))
        best = min(highest, API[api].max_version)
        if best < max(lowest, oldest):
            raise CliError(
                f"The broker at {address[0]}:{address[1]} does not offer {API[api].name}"
                f"{f' version {oldest}' if oldest else ''}.",
                cause="it is an older release, or another kind of broker.",
                code=Exit.REFUSED,
            )
        return best
