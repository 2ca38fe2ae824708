"""A cluster as commands ask it for what librdkafka cannot ask: `tidelog.blocking`, with errors for people.

Any broker will do for what the controller decides: it forwards the request. While the controller changes, the
request is repeated until the session's time is up.
"""

import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.addresses import Address
from tidelog.blocking.attempts import Limits
from tidelog.blocking.brokers import Brokers
from tidelog.blocking.connection import Connection
from tidelog.blocking.errors import BadAnswer, Disconnected, NoAnswer, NoBroker, SecurityError
from tidelog.blocking.settings import ClusterSettings
from tidelog.cli.connection import error_of_trouble, parse_servers, unreachable
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.clients.connection import find_mismatch
from tidelog.clients.diagnosis import diagnose, trouble_of
from tidelog.clients.listener_probe import Listener, find_listener
from tidelog.clients.trouble import Trouble
from tidelog.wire.message import Message

if TYPE_CHECKING:
    from tidelog.blocking.security import Security

CLIENT_ID = "tidelog-cli"
PAUSE_S = 0.2
CONTROLLER_CHANGES = (
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
)
"""What a broker answers while the cluster's metadata has no leader, or has had another for a moment."""
HUNG_UP = (ConnectionResetError, BrokenPipeError, ssl.SSLError)

Result = TypeVar("Result")


class DirectCluster:
    def __init__(
        self,
        session: Session,
        *,
        connect: Callable[..., Connection] = Connection,
        find: Callable[[str, int], Listener | None] = find_listener,
        diagnose: Callable[[str, Mapping[str, str]], Trouble | None] = diagnose,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if session.brokers is None:
            session.brokers = Brokers(settings_of(session), connect=connect)
        self.session = session
        self._brokers = session.brokers
        self._find, self._diagnose, self._now, self._sleep = find, diagnose, now, sleep

    def for_seconds(self, limit_s: float) -> "DirectCluster":
        """The same brokers with a shorter time limit."""
        session = self.session.with_timeout(min(limit_s, self.session.timeout_s))
        return DirectCluster(
            session, find=self._find, diagnose=self._diagnose, now=self._now, sleep=self._sleep
        )

    def learn(self, addresses: Iterable[Address]) -> None:
        """Brokers to turn to when those that the user named are away."""
        self._brokers.learn(addresses)

    def ask(self, request: Message, *, at_least: int = 0) -> Any:
        """Asks any broker that answers; `at_least` is the first version with the fields that are needed."""
        return self.repeat(
            lambda: self._ask_any(request, at_least),
            lambda answer: getattr(answer, "error_code", 0) in CONTROLLER_CHANGES,
        )

    def ask_broker(self, address: Address, request: Message, *, at_least: int = 0) -> Any:
        """Asks this broker alone. Raises Disconnected where it is away."""
        timeout_s = self.session.timeout_s
        try:
            connection = self._brokers.at(address, timeout_s=timeout_s)
            return connection.call(request, timeout_s=timeout_s, at_least=at_least)
        except (BadAnswer, SecurityError, KafkaError) as error:
            self._explain(error, f"{address[0]}:{address[1]}")

    def repeat(self, ask: Callable[[], Result], is_passing: Callable[[Result], bool]) -> Result:
        """Asks until the answer is final, or time is up: then the last answer counts."""
        deadline = self._now() + self.session.timeout_s
        while True:
            answer = ask()
            if not is_passing(answer) or self._now() >= deadline:
                return answer
            self._sleep(PAUSE_S)

    def _ask_any(self, request: Message, at_least: int) -> Any:
        try:
            return self._brokers.call_any(request, timeout_s=self.session.timeout_s, at_least=at_least)
        except NoBroker as error:
            self._explain_silence(error.failures)
        except (SecurityError, KafkaError) as error:
            self._explain(error, self.session.servers)

    def _explain_silence(self, failures: Sequence[Disconnected]) -> NoReturn:
        servers = self.session.servers
        for failure in failures:
            if isinstance(failure, BadAnswer):
                self._explain(failure, servers)
        if any(isinstance(failure.__cause__, HUNG_UP) for failure in failures):
            self._raise_if_it_speaks_otherwise(servers)
            if (found := self._diagnose(servers, self.session.properties)) is not None:
                raise error_of_trouble(found)
        if any(isinstance(failure, NoAnswer) for failure in failures):
            raise CliError(
                f"No broker at {servers} answered within {self.session.timeout_s:g} s.",
                cause="the cluster has no controller, as too few voters are up; or the broker is overloaded.",
                attempt="tidelog cluster status; or the same with --timeout 60",
                code=Exit.TIMED_OUT,
            )
        raise unreachable(servers, failures)

    def _explain(self, error: BadAnswer | SecurityError | KafkaError, server: str) -> NoReturn:
        if self._protocol != "plaintext" or isinstance(error, BadAnswer):
            self._raise_if_it_speaks_otherwise(server)
        if isinstance(error, SecurityError):
            raise error_of_trouble(trouble_of(error, server)) from error
        if isinstance(error, BadAnswer):
            raise CliError(f"{server} does not answer as a Kafka broker does: {error.reason}.") from error
        raise CliError(
            f"The broker at {error.message}.",
            cause="it is an older release, or another kind of broker.",
            code=Exit.REFUSED,
        ) from error

    @property
    def _protocol(self) -> str:
        return self.session.properties.get("security.protocol", "plaintext").lower()

    def _raise_if_it_speaks_otherwise(self, servers: str) -> None:
        """A listener with TLS or SASL hangs up on a plain client, or its answer cannot be read."""
        if (mismatch := find_mismatch(servers, self._protocol, self._find)) is not None:
            raise error_of_trouble(mismatch)


def settings_of(session: Session) -> ClusterSettings:
    parse_servers(session.servers)  # a word about an address that is none
    limit_s = session.timeout_s
    limits = Limits(connect_s=limit_s, request_s=limit_s, total_s=limit_s)
    return ClusterSettings(tuple(session.servers.split(",")), _security(session), limits, CLIENT_ID)


def _security(session: Session) -> "Security | None":
    if not session.properties:
        return None
    from tidelog.blocking.security_options import security_of

    try:
        return security_of(session.properties)
    except SecurityError as error:
        raise CliError(f"{error}.", code=Exit.USAGE) from error
