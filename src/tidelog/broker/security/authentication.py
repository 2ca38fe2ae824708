"""A connection's way to a principal: a handshake chooses the mechanism, then tokens go back and forth.

The text for the client is the same for every failure; the reason is for the broker's log.
"""

from typing import NamedTuple

from tidelog.base.errors import TidelogError
from tidelog.base.ports import Clock
from tidelog.broker.security.sasl_listener import Mechanism, SaslListener
from tidelog.security.sasl.conversation import Authenticated, AuthenticationFailed, Conversation

STEPS_MAX = 8
"""Tokens of a client in one exchange; SCRAM takes two."""

REAUTHENTICATION_SECONDS_MIN = 1.0
"""Between two, as in Kafka: an exchange costs the broker more than most requests."""


class NotChecked(TidelogError):
    """The broker has too much to do, or lacks what it needs. The client may be right, and may try again."""


class Step(NamedTuple):
    """What a client's token led to."""

    token: bytes
    lifetime_ms: int = 0
    """Once authenticated: how long it lasts; 0 for as long as the connection."""
    has_failed: bool = False
    """The mechanism tells the client of its refusal itself, with `token`."""


class Authentication:
    __slots__ = (
        "_clock",
        "_conversation",
        "_listener",
        "_mechanism",
        "_mechanism_name",
        "_reauthenticated_at",
        "_steps",
        "has_session_end",
        "result",
        "takes_raw_tokens",
    )

    def __init__(self, listener: SaslListener, clock: Clock) -> None:
        self._listener = listener
        self._clock = clock
        self._mechanism: Mechanism | None = None
        self._mechanism_name = ""
        self._conversation: Conversation | None = None
        self._steps = 0
        self._reauthenticated_at: float | None = None
        self.result: Authenticated | None = None
        self.takes_raw_tokens = False
        """Since a handshake of version 0: tokens come in frames of their own, without a request around."""
        self.has_session_end = False

    @property
    def mechanism_name(self) -> str:
        return self._mechanism_name

    @property
    def is_under_way(self) -> bool:
        """Whether a mechanism is chosen, and its exchange has not ended."""
        return self._conversation is not None

    def offers(self, mechanism: str) -> bool:
        return mechanism in self._listener.mechanisms

    def may_begin_again(self) -> bool:
        """Whether an authenticated client may authenticate again now."""
        last = self._reauthenticated_at
        is_soon = last is not None and self._clock.monotonic() - last < REAUTHENTICATION_SECONDS_MIN
        return self.has_session_end and not is_soon

    def begin(self, mechanism: str, *, raw: bool) -> None:
        """`mechanism` is on offer. Raises AuthenticationFailed."""
        if self.result is not None:
            self._reauthenticated_at = self._clock.monotonic()
            if mechanism != self._mechanism_name:
                raise AuthenticationFailed(
                    f"asked for {mechanism} after it was authenticated by {self._mechanism_name}"
                )
        self._mechanism = self._listener.mechanisms[mechanism]
        self._mechanism_name = mechanism
        self._conversation = self._mechanism.begin()
        self._steps = 0
        self.takes_raw_tokens = raw

    async def respond(self, token: bytes) -> Step:
        """Raises AuthenticationFailed or NotChecked."""
        conversation, mechanism = self._conversation, self._mechanism
        self._steps += 1
        if conversation is None or mechanism is None or self._steps > STEPS_MAX:
            raise AuthenticationFailed("sent a SASL token outside of an exchange")
        try:
            if conversation.is_slow(token):
                answer = await mechanism.run_slow(lambda: conversation.respond(token))
            else:
                answer = conversation.respond(token)
        except AuthenticationFailed:
            raise
        except TidelogError as error:
            raise NotChecked(f"the broker could not check it: {error}") from error
        if conversation.result is None:
            return Step(answer, has_failed=conversation.has_failed)
        return Step(answer, self._finish(conversation.result, mechanism))

    def _finish(self, result: Authenticated, mechanism: Mechanism) -> int:
        before = self.result
        if before is not None and before.principal != result.principal:
            raise AuthenticationFailed(
                f"is {str(before.principal)!r} and cannot become {str(result.principal)!r}"
            )
        limits = [mechanism.reauth_ms] if mechanism.reauth_ms else []
        if result.expires_at_ms is not None:
            limits.append(result.expires_at_ms - self._clock.now_ms())
        self._conversation = None
        self.takes_raw_tokens = False
        self.result = result
        self.has_session_end = bool(limits)
        return max(min(limits), 1) if limits else 0
