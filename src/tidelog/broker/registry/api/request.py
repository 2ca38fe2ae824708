"""One call on its way through the API: its parameters, its query, its body, and the registry."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

from tidelog.broker.registry.api.paths import is_qualified
from tidelog.broker.registry.api.query import Query, integer
from tidelog.broker.registry.calls import Answer, Call
from tidelog.broker.registry.leading import Leading
from tidelog.registry import subjects
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.state import lookups
from tidelog.security.acls.vocabulary import Operation as Permission

if TYPE_CHECKING:
    from tidelog.broker.registry.authorization import Authorization
    from tidelog.registry.state.state import RegistryState

BodyT = TypeVar("BodyT")
Operation: TypeAlias = "Callable[[RegistryRequest], Awaitable[Answer]]"


class RegistryRequest:
    def __init__(
        self, leading: Leading, call: Call, parameters: dict[str, str], context: str | None = None
    ) -> None:
        self.leading = leading
        self.call = call
        self.query = Query(call.query)
        self.context = context
        """As `:.name:`, where the path begins with one."""
        self._parameters = parameters

    @property
    def authorization(self) -> "Authorization":
        return self.leading.authorization

    @property
    def state(self) -> "RegistryState":
        return self.leading.shard.state

    def subject(self) -> str:
        """Returns the subject of the path, or the subject that it is an alias of."""
        return lookups.resolved_alias(self.state, subjects.checked_spelling(self.text("subject")))

    def permitted_subject(self, operation: Permission) -> str:
        """As `subject`. Raises RegistryError where the client may not do this with it."""
        subject = self.subject()
        self.authorization.check(self.call, operation, subject)
        return subject

    def subject_of_query(self, name: str) -> str:
        """Returns the subject that the query names, in the context of the path; or that context alone."""
        subject = self.in_context(self.query.text(name))
        return lookups.resolved_alias(self.state, subjects.checked_spelling(subject)) if subject else ""

    def text(self, name: str) -> str:
        """Returns a parameter of the path."""
        return self._parameters[name]

    def optional(self, name: str) -> str:
        """Returns a parameter that the path may leave out; "" then."""
        return self._parameters.get(name, "")

    def number(self, name: str) -> int:
        return integer(self._parameters[name])

    def in_context(self, subject: str) -> str:
        """Returns a subject, or the beginning of one, of the query, with the context that the path names."""
        return subject if self.context is None or is_qualified(subject) else self.context + subject

    def body(self, kind: type[BodyT]) -> BodyT:
        """Returns the body, read as JSON of the kind. Raises RegistryError."""
        if not self.call.body.strip():
            raise RegistryError(
                RegistryCode.UNPROCESSABLE, "The request body must not be null: send a JSON object."
            )
        try:
            # As Jackson does, a number may come as a string.
            return msgspec.json.decode(self.call.body, type=kind, strict=False)
        except msgspec.ValidationError as error:
            raise RegistryError(
                RegistryCode.BAD_REQUEST, f"The request body is not as expected: {error}"
            ) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RegistryError(RegistryCode.BAD_REQUEST, f"The request body is not JSON: {error}") from None
        except RecursionError:
            raise RegistryError(RegistryCode.BAD_REQUEST, "The request body is nested too deeply.") from None
