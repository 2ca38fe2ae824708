"""Answers to requests of APIs that the protocol knows and this broker does not offer.

A client that asks what is offered never sends one. One that believes it knows the broker's version does, and
is told so in the form that it reads: a closed connection would look like a failure of the network.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.wire.apis import ApiKey, ApiSpec
from tidelog.wire.message import Message

Refuse = Callable[[Context, Any], Message]

# As Kafka answers on a listener without SASL: the client's settings are wrong, not its version.
_CODES = {
    ApiKey.SASL_HANDSHAKE: ErrorCode.ILLEGAL_SASL_STATE,
    ApiKey.SASL_AUTHENTICATE: ErrorCode.ILLEGAL_SASL_STATE,
}

# Where the error belongs to each thing that was asked for: the list in the answer, what its items are made
# of, and what each of them is about.
_ITEMS: dict[ApiKey, tuple[str, str, Callable[[Any], list[dict[str, Any]]]]] = {
    ApiKey.ALTER_CLIENT_QUOTAS: (
        "entries",
        "AlterClientQuotasResponseEntryData",
        lambda request: [{"entity": entry.entity} for entry in request.entries],
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (
        "results",
        "AlterUserScramCredentialsResult",
        lambda request: [
            {"user": user}
            for user in dict.fromkeys(change.name for change in (*request.deletions, *request.upsertions))
        ],
    ),
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
    """How requests of this API are refused; None where its answers have no room for an error."""
    answer = spec.response_class()
    said: dict[str, Any] = {"error_code": _CODES.get(ApiKey(spec.key), ErrorCode.UNSUPPORTED_VERSION)}
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
