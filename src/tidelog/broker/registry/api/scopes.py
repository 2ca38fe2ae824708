"""What a setting or a mode belongs to: a subject, a context, or everything."""

from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.authorization import CONFIGURE
from tidelog.registry import subjects


def scope_of(request: RegistryRequest) -> str | None:
    """Returns the subject or the context (`:.name:`) of the path; None for everything."""
    return subjects.checked_scope(request.optional("subject"))


def permit_change(request: RegistryRequest) -> str | None:
    """As `scope_of`. Raises RegistryError where the client may not change what belongs to it."""
    scope = scope_of(request)
    if scope is None or not subjects.split(scope).name:
        request.authorization.check_all(request.call, CONFIGURE)
    else:
        request.authorization.check(request.call, CONFIGURE, scope)
    return scope
