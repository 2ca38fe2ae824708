"""Whether a client has ever reached a broker, and what stands in its way if it has not.

librdkafka tries for ever and tells only its error callback why it fails. A wrong protocol or password is not
worth waiting for: as long as no broker was ever reached, it is raised at once. A client that has had its
broker lives through every outage.
"""

import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from tidelog.blocking.addresses import addresses_of
from tidelog.clients.diagnosis import diagnose
from tidelog.clients.errors import ClientError, ConnectionFailed, DeliveryTimedOut, RequestTimedOut
from tidelog.clients.listener_probe import Listener, find_listener
from tidelog.clients.trouble import REFUSALS, Trouble, in_words, mismatch, refusal

AnswerT = TypeVar("AnswerT")

SLICE_S = 0.25
"""How long a client's first question waits before it looks at what librdkafka says."""
PROBE_AGAIN_S = 5.0
PROBE_LIMIT_S = 5.0
REFUSAL_HOLDS_S = 15.0
"""librdkafka tries again every ten seconds at the latest; silence means that the refusal is over."""
REASONS = ("_TRANSPORT", "_RESOLVE", *REFUSALS)
NO_ANSWER_YET = ("_TRANSPORT", "_TIMED_OUT", "_TIMED_OUT_QUEUE")


def start_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="tidelog-probe", daemon=True).start()


class Connection:
    """`heard` is called from any thread, the rest from the client's own."""

    def __init__(
        self,
        servers: str,
        security_protocol: str = "plaintext",
        *,
        find: Callable[[str, int], Listener | None] = find_listener,
        now: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], None] = start_thread,
        diagnose: Callable[[], Trouble | None] = lambda: None,
    ) -> None:
        """`find` and `diagnose` may take seconds, so `start` lets them run beside the client."""
        self.servers = servers
        self._protocol = security_protocol.lower()
        self._find, self._now, self._start, self._diagnose = find, now, start, diagnose
        self.reached = False
        """A broker has answered, once."""
        self.reason = ""
        """Why the newest attempt failed, in librdkafka's words."""
        self._refusal: Trouble | None = None
        self._refused_at = 0.0
        self._mismatch: Trouble | None = None
        self._all_down = False
        self._lock = threading.Lock()
        self._probed_at: float | None = None
        self._is_probing = False
        self._is_probed = threading.Event()
        self._when_in_vain: weakref.WeakMethod[Callable[[], None]] | None = None

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> "Connection":
        """For a client that librdkafka opens with these properties."""
        servers = str(properties.get("bootstrap.servers", ""))
        return cls(
            servers,
            str(properties.get("security.protocol", "plaintext")),
            diagnose=partial(diagnose, servers, properties),
        )

    def tell(self, method: Callable[[], None]) -> None:
        """Call this method, which is held weakly, once it turns out that waiting is in vain."""
        self._when_in_vain = weakref.WeakMethod(method)

    def heard(self, error: Any) -> None:
        """What librdkafka tells its error callback."""
        name = error.name()
        if name == "_ALL_BROKERS_DOWN":
            self._all_down = True
        elif name in REASONS:
            self.reason = in_words(error.str() or name)
            if name in REFUSALS:
                self._refusal = refusal(name, self.reason, self.servers)
                self._refused_at = self._now()
        if self._all_down and not self.reached:
            self._probe_if_due()

    @property
    def is_all_down(self) -> bool:
        """Whether librdkafka has found no broker, so far."""
        return self._all_down and not self.reached

    def trouble(self, *, has_failed: bool = False) -> Trouble | None:
        """Why waiting is in vain, as far as it is known.

        `has_failed`: a request has, so there is no doubt that something is wrong. It waits for the
        listeners to say what they speak.
        """
        if self.reached or not (self._all_down or has_failed):
            return None
        self._probe_if_due()
        if has_failed:
            self._is_probed.wait(PROBE_LIMIT_S)
        if self._mismatch is not None or self._now() - self._refused_at > REFUSAL_HOLDS_S:
            return self._mismatch
        # A refusal may come from a protocol that does not fit, so what the listeners say goes first.
        return self._refusal if self._is_probed.is_set() else None

    def _probe_if_due(self) -> None:
        with self._lock:
            now = self._now()
            is_early = self._probed_at is not None and now - self._probed_at < PROBE_AGAIN_S
            if is_early or self._is_probing:  # many addresses that do not answer take longer than the pause
                return
            self._probed_at = now
            self._is_probing = True
            self._is_probed.clear()
        try:
            self._start(self._probe)
        except RuntimeError:  # the program ends: no thread begins any more
            self._end_probe()

    def _end_probe(self) -> None:
        self._is_probing = False
        self._is_probed.set()

    def _probe(self) -> None:
        try:
            self._mismatch = find_mismatch(self.servers, self._protocol, self._find)
            if self._mismatch is None and self._protocol != "plaintext":
                self._mismatch = self._diagnose()
        finally:
            self._end_probe()
        report = self._when_in_vain() if self._when_in_vain is not None else None
        if report is not None and self.trouble() is not None:
            report()

    def check(self) -> None:
        found = self.trouble()
        if found is not None:
            raise found.as_error()

    def explained(self, error: ClientError, *, may_wait: bool = True) -> ClientError:
        """The same error, with the reason why no broker was reached; or the trouble behind it."""
        if self.reached or not isinstance(error, ConnectionFailed | RequestTimedOut | DeliveryTimedOut):
            return error
        if (found := self.trouble(has_failed=may_wait)) is not None:
            return found.as_error()
        if not self.reason:
            return error
        return type(error)(
            error.what,
            cause=f"no broker was reached: {self.reason}.",
            attempt=error.what_to_do,
            code=error.code,
            reason=error.reason,
            retriable=error.retriable,
            fatal=error.fatal,
            spoils_transaction=error.spoils_transaction,
        )

    def ask(self, call: Callable[[float], AnswerT], limit_s: float, serve: Callable[[], object]) -> AnswerT:
        """The answer to a blocking question: `call` gets the seconds that it may wait.

        As long as no broker has answered, it waits in growing slices, and `serve` lets librdkafka's error
        callback run in between.
        """
        deadline = self._now() + limit_s
        slice_s = SLICE_S
        while not self.reached and deadline - self._now() > slice_s:
            answer = _unless_early(call, slice_s)
            if answer is not None:
                self.reached = True
                return answer
            serve()
            self.check()
            slice_s *= 2
        answer = call(max(0.0, deadline - self._now()))
        if answer is not None:
            self.reached = True
        return answer


def find_mismatch(
    servers: str, protocol: str, find: Callable[[str, int], Listener | None] = find_listener
) -> Trouble | None:
    """Asks the listeners what they speak. None where one of them fits, or none answers."""
    found = [find(host, port) for host, port in addresses_of(servers)]
    there = [listener for listener in found if listener is not None]
    if not there or any(listener.fits(protocol) for listener in there):
        return None
    return mismatch(there[0], protocol)


def _unless_early(call: Callable[[float], AnswerT], limit_s: float) -> AnswerT | None:
    """None where the time was over first; some of librdkafka's calls say so by None themselves."""
    from confluent_kafka import KafkaError, KafkaException

    from tidelog.clients.retrying import is_passing

    try:
        return call(limit_s)
    except KafkaException as error:
        inner = error.args[0] if error.args else None
        if is_passing(error) or (isinstance(inner, KafkaError) and inner.name() in NO_ANSWER_YET):
            return None
        raise
