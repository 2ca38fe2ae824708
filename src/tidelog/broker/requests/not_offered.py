"""Responses to requests of APIs that the protocol defines and this broker does not offer.

A client that asks for the offered APIs first never sends one. A client that assumes a broker version does,
and gets an error that it can read: a closed connection would look like a failure of the network.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.wire.apis import ApiKey, ApiSpec
from tidelog.wire.message import Message

Refuse = Callable[[Context, Any], Message]

# Where the error belongs to each item of the request: the list in the response, the type of its items, and
# the fields that identify each of them.
_ITEMS: dict[ApiKey, tuple[str, str, Callable[[Any], list[dict[str, Any]]]]] = {
    ApiKey.SHARE_GROUP_DESCRIBE: (
        "groups",
        "DescribedGroup",
        lambda request: [{"group_id": group} for group in request.group_ids],
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        "groups",
        "DescribeShareGroupOffsetsResponseGroup",
        lambda request: [{"group_id": group.group_id} for group in request.groups],
    ),
}


def refusal_of(spec: ApiSpec) -> Refuse | None:
    """Returns the handler that refuses requests of this API; None if responses have no field for an error."""
    answer = spec.response_class()
    said: dict[str, Any] = {"error_code": ErrorCode.UNSUPPORTED_VERSION}
    why = f"{spec.name} is not offered by this broker."
    if "error_code" in answer.__struct_fields__:
        if "error_message" in answer.__struct_fields__:
            said["error_message"] = why
        return lambda _, request: answer(**said)
    if spec.key not in _ITEMS:
        return None
    field, item_name, about = _ITEMS[ApiKey(spec.key)]
    item = getattr(import_module(answer.__module__), item_name)
    said["error_message"] = why
    return lambda _, request: answer(**{field: [item(**said, **what) for what in about(request)]})
