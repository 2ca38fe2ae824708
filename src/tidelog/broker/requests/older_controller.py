"""Responses to requests that would be passed on to a controller of an earlier release, which lacks their API.

That controller closes the connection, on which other requests of this broker wait too, each time that the
request is tried again. So the broker itself refuses such a request, in the form of its response.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.image import CLIENT_METRICS_VERSION, SECURITY_VERSION
from tidelog.wire.apis import API, ApiKey, ApiSpec
from tidelog.wire.message import Message

Refuse = Callable[[Context, Any], Message]

# Where the error belongs to each item of the request: the list in the response, the type of its items, and
# the fields that identify each of them.
_ITEMS: dict[ApiKey, tuple[str, str, Callable[[Any], list[dict[str, Any]]]]] = {
    ApiKey.ALTER_ROLES: (
        "results",
        "RoleChangeResult",
        lambda request: [{"name": change.name} for change in request.changes],
    ),
}

COMES_WITH = {
    ApiKey.CREATE_DELEGATION_TOKEN: SECURITY_VERSION,
    ApiKey.RENEW_DELEGATION_TOKEN: SECURITY_VERSION,
    ApiKey.EXPIRE_DELEGATION_TOKEN: SECURITY_VERSION,
    ApiKey.ALTER_ROLES: SECURITY_VERSION,
    ApiKey.CAN_STOP_BROKER: CLIENT_METRICS_VERSION,
}
"""Forwarded requests that 0.1.0 does not respond to, with a feature that came in the same release: a broker
registers those that it supports, which tells whether it knows the request."""


def refusal_of(spec: ApiSpec, why: str) -> Refuse:
    """Returns the handler that refuses requests of this API, which `COMES_WITH` names."""
    answer = spec.response_class()
    said: dict[str, Any] = {"error_code": ErrorCode.UNSUPPORTED_VERSION}
    if "error_code" in answer.__struct_fields__:
        if "error_message" in answer.__struct_fields__:
            said["error_message"] = why
        return lambda _, request: answer(**said)
    field, item_name, about = _ITEMS[ApiKey(spec.key)]
    item = getattr(import_module(answer.__module__), item_name)
    said["error_message"] = why
    return lambda _, request: answer(**{field: [item(**said, **what) for what in about(request)]})


def refusal_for_controller(metadata: MetadataService, api_key: ApiKey) -> Refuse | None:
    """Returns what refuses this request; None if the controller knows it, or its release is not known."""
    feature = COMES_WITH.get(api_key)
    if feature is None or metadata.controller_id is None:
        return None
    controller = metadata.image.brokers.get(metadata.controller_id)
    if controller is None or any(supported.name == feature for supported in controller.features):
        return None
    spec = API[api_key]
    return refusal_of(
        spec,
        f"The controller is broker {controller.id}, of an earlier release, which does not know {spec.name}. "
        "Try again when all brokers run this version.",
    )
