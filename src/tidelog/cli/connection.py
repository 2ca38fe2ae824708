"""The way to a broker: confluent-kafka clients that stay silent, and their errors in our words.

A plain TCP connect comes first. librdkafka retries for ever and reports late; a person who forgot to
start the broker should hear so at once.
"""

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tidelog.blocking.addresses import DEFAULT_PORT, host_and_port
from tidelog.blocking.errors import Disconnected
from tidelog.blocking.registry.properties import is_registry_property
from tidelog.cli.denials import denial
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.clients.connection import SLICE_S, Connection
from tidelog.clients.errors import ConfigurationError
from tidelog.clients.security_names import for_librdkafka
from tidelog.clients.trouble import Trouble

CONNECT_TIMEOUT_S = 3.0
METADATA_AGE_MS = 1000
"""Leaders may change while a command runs; librdkafka keeps its metadata for a quarter of an hour."""

AnswerT = TypeVar("AnswerT")


class Cluster:
    """Clients for the brokers that the session names. Each is made on first use."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._reached = False
        self._admin: Any = None
        self.connection = Connection.of({"bootstrap.servers": session.servers, **session.properties})

    @property
    def admin(self) -> Any:
        if self._admin is None:
            from confluent_kafka.admin import AdminClient

            self._admin = self._kept(AdminClient(self.settings({"metadata.max.age.ms": METADATA_AGE_MS})))
        return self._admin

    def consumer(self, **settings: object) -> Any:
        """A consumer for `assign()` alone. librdkafka wants a group id and looks for its coordinator, whether
        there is one or not; no group is joined and no offset is committed."""
        from confluent_kafka import Consumer

        fixed = {"group.id": "tidelog-cli", "enable.auto.commit": False, "enable.auto.offset.store": False}
        return self._kept(Consumer(self.settings(fixed | settings)))

    def producer(self, **settings: object) -> Any:
        from confluent_kafka import Producer

        return self._kept(Producer(self.settings(settings)))

    def _kept(self, client: Any) -> Any:
        self.session.clients.append(client)
        return client

    def settings(self, wanted: Mapping[str, object] | None = None) -> dict[str, Any]:
        self.reach()
        base = {
            "bootstrap.servers": self.session.servers,
            "client.id": "tidelog-cli",
            # Errors come back from the calls; librdkafka's own lines on stderr would only confuse.
            "log_level": 0,
            "socket.connection.setup.timeout.ms": 5000,
        }
        made: dict[str, Any] = {**base, **(wanted or {}), **self._properties()}
        theirs = made.get("error_cb")

        def heard(error: Any) -> None:
            self.connection.heard(error)
            if theirs is not None:
                theirs(error)

        return made | {"error_cb": heard}

    def _properties(self) -> dict[str, Any]:
        try:
            return for_librdkafka(
                {
                    name: value
                    for name, value in self.session.properties.items()
                    if not is_registry_property(name)
                }
            )
        except ConfigurationError as error:
            raise CliError(error.what, attempt=error.what_to_do.rstrip("."), code=Exit.USAGE) from error

    def reach(self) -> None:
        """Fail now, with the reason, if no bootstrap server accepts a connection.

        A TLS listener logs a connection without a handshake as a fault, so there librdkafka tries first.
        """
        if not self._reached and not self.session.properties.get("security.protocol", "").lower().endswith(
            "ssl"
        ):
            self._reach_by_tcp()

    def _reach_by_tcp(self) -> None:
        failures = []
        for host, port in parse_servers(self.session.servers):
            try:
                socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
                self._reached = True
                return
            except OSError as error:
                failures.append(error)
        raise unreachable(self.session.servers, failures)

    def ask(
        self, call: Callable[..., Any], *arguments: object, timeout_s: float | None = None, **named: object
    ) -> Any:
        """Call an AdminClient method that answers {item: future}; give {item: result or KafkaError}."""
        from confluent_kafka import KafkaException

        patience_s = self.session.timeout_s if timeout_s is None else timeout_s
        try:
            with translated(self.session):
                futures = call(*arguments, request_timeout=patience_s, **named)
        except (ValueError, TypeError) as error:  # confluent-kafka's own checks of the arguments
            raise CliError(f"{error}.", code=Exit.USAGE) from error
        answers: dict[Any, Any] = {}
        for item, future in futures.items():
            try:
                answers[item] = self._awaited(future, patience_s + 5)
            except KafkaException as error:
                answers[item] = error.args[0]
        self._raise_if_lost(answers.values())
        return answers

    def _awaited(self, future: Any, limit_s: float) -> Any:
        """As long as no broker has answered, with an eye on what librdkafka says."""
        deadline = time.monotonic() + limit_s
        while not self.connection.reached and time.monotonic() < deadline:
            try:
                answer = future.result(SLICE_S)
            except TimeoutError:
                self._look_for_trouble()
            else:
                self.connection.reached = True
                return answer
        return future.result(max(0.0, deadline - time.monotonic()))

    def list_topics(self) -> Any:
        """The brokers and all topics, as confluent-kafka gives them."""
        with translated(self.session):
            return self.connection.ask(
                lambda limit_s: self.admin.list_topics(timeout=limit_s),
                self.session.timeout_s,
                self._look_for_trouble,
            )

    def _look_for_trouble(self, *, has_failed: bool = False) -> None:
        self.admin.poll(0)
        if self.connection.is_all_down and not self._reached:
            self._reach_by_tcp()
        if (found := self.connection.trouble(has_failed=has_failed)) is not None:
            raise error_of_trouble(found)

    def _raise_if_lost(self, answers: Iterable[object]) -> None:
        from confluent_kafka import KafkaError

        for answer in answers:
            if isinstance(answer, KafkaError) and exit_for(answer) in (Exit.UNREACHABLE, Exit.TIMED_OUT):
                self._look_for_trouble(has_failed=True)
                raise as_cli_error(answer, self.session)


def parse_servers(text: str) -> list[tuple[str, int]]:
    servers = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        if (address := host_and_port(part)) is None:
            raise CliError(f"'{part}' is not HOST:PORT.", attempt="-b localhost:9092", code=Exit.USAGE)
        servers.append(address)
    if not servers:
        raise CliError("No broker address is given.", attempt="-b localhost:9092", code=Exit.USAGE)
    return servers


def unreachable(servers: str, failures: Iterable[OSError | Disconnected]) -> CliError:
    first: BaseException | None = next(iter(failures), None)
    if isinstance(first, Disconnected):
        first = first.__cause__ or first
    if isinstance(first, ConnectionRefusedError):
        cause = "nothing listens there; is the broker running, and on this port?"
    elif isinstance(first, TimeoutError):
        cause = "the host did not answer; a firewall, or a wrong address."
    elif isinstance(first, socket.gaierror):
        cause = "the host name is not known."
    else:
        cause = str(first) if first else "the connection broke."
    return CliError(
        f"No broker answers at {servers}.", cause=cause, attempt=start_command(servers), code=Exit.UNREACHABLE
    )


def error_of_trouble(trouble: Trouble) -> CliError:
    """Why no broker will be reached, with the client property to give."""
    attempt = f"the same with -X {trouble.setting}" if trouble.setting else f"-X with {trouble.properties}"
    if trouble.setting and trouble.properties:
        attempt += f", and {trouble.properties}"
    code = Exit.DENIED if trouble.is_about_identity else Exit.UNREACHABLE
    return CliError(trouble.what, cause=trouble.cause, attempt=attempt, code=code)


def start_command(servers: str) -> str:
    """What would put a broker at this address, if it is on this machine; else another address."""
    host, port = parse_servers(servers)[0]
    if host not in ("localhost", "127.0.0.1", "::1"):
        return "another address with -b HOST:PORT"
    return "tidelog up" if port == DEFAULT_PORT else f"tidelog up --port {port}"


class translated:
    """`with translated(session):` turns a KafkaException that leaves the block into a CliError."""

    def __init__(self, session: Session, what: str = "") -> None:
        self.session = session
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from confluent_kafka import KafkaError, KafkaException

        if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
            raise as_cli_error(error.args[0], self.session, self.what) from error


def exit_for(error: Any) -> Exit:
    """Which exit code a confluent_kafka.KafkaError stands for."""
    name = error.name()
    if name in _EXITS:
        return _EXITS[name]
    if "AUTH" in name:
        return Exit.DENIED
    return Exit.REFUSED if "INVALID" in name else Exit.FAILED


_EXITS = {
    "UNKNOWN_TOPIC_OR_PART": Exit.NOT_FOUND,
    "UNKNOWN_TOPIC_ID": Exit.NOT_FOUND,
    "_UNKNOWN_TOPIC": Exit.NOT_FOUND,
    "_UNKNOWN_PARTITION": Exit.NOT_FOUND,
    "RESOURCE_NOT_FOUND": Exit.NOT_FOUND,
    "GROUP_ID_NOT_FOUND": Exit.NOT_FOUND,
    "TOPIC_ALREADY_EXISTS": Exit.EXISTS,
    "_TRANSPORT": Exit.UNREACHABLE,
    "_RESOLVE": Exit.UNREACHABLE,
    "_ALL_BROKERS_DOWN": Exit.UNREACHABLE,
    "BROKER_NOT_AVAILABLE": Exit.UNREACHABLE,
    "_TIMED_OUT": Exit.TIMED_OUT,
    "_TIMED_OUT_QUEUE": Exit.TIMED_OUT,
    "_MSG_TIMED_OUT": Exit.TIMED_OUT,
    "REQUEST_TIMED_OUT": Exit.TIMED_OUT,
    "POLICY_VIOLATION": Exit.REFUSED,
    "MSG_SIZE_TOO_LARGE": Exit.REFUSED,
    "TOPIC_EXCEPTION": Exit.REFUSED,
    "OFFSET_OUT_OF_RANGE": Exit.REFUSED,
    "TOPIC_DELETION_DISABLED": Exit.REFUSED,
    "NON_EMPTY_GROUP": Exit.REFUSED,
    "GROUP_SUBSCRIBED_TO_TOPIC": Exit.REFUSED,
    "UNKNOWN_MEMBER_ID": Exit.REFUSED,
    "_INVALID_ARG": Exit.USAGE,
    "_AUTHENTICATION": Exit.DENIED,
}


def as_cli_error(error: Any, session: Session, what: str = "") -> CliError:
    code = exit_for(error)
    said = (error.str() or error.name()).strip()
    said = said if said.endswith((".", "!", "?")) else said + "."
    if code is Exit.UNREACHABLE:
        return CliError(
            f"No Kafka broker answers at {session.servers}.",
            cause=f"it stopped, or another program listens there ({said.rstrip('.')}).",
            attempt=start_command(session.servers),
            code=code,
        )
    if code is Exit.TIMED_OUT:
        return CliError(
            f"The broker at {session.servers} did not answer in time.",
            cause="it is overloaded, still starting, without a controller, not a Kafka-compatible broker, "
            "or advertises an address that this machine cannot reach.",
            attempt="tidelog cluster status; or the same with --timeout 60",
            code=code,
        )
    return denial(error.name(), said, what) or CliError(f"{what}: {said}" if what else said, code=code)
