"""CreateDelegationToken: for the requester, or since version 3 for another user that it may act for."""

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import uuid_from_random, uuid_text
from tidelog.broker.handlers.authentication.delegation_tokens import refusal_here, secret_of, times_of
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.tokens import decide_create_token, token_hmac
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.security.principal import USER, Principal, parse_principal
from tidelog.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)


def check_here(
    context: Context, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | None:
    error = refusal_here(context)
    return None if error is None else _refused(context, request, error)


async def handle(context: Context, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    requester = context.connection.principal
    owner = str(_owner(context, request))
    renewers = [Principal(each.principal_type, each.principal_name) for each in request.renewers]
    if owner != requester and not context.allows(Operation.CREATE_TOKENS, ResourceType.USER, owner):
        return _refused(context, request, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    if not owner.startswith(f"{USER}:"):
        return _refused(context, request, ErrorCode.INVALID_PRINCIPAL_TYPE)
    services = context.services
    token_id = uuid_text(uuid_from_random(services.random.bytes(16)))
    [result] = await services.metadata.change(
        lambda image: decide_create_token(
            image,
            token_id,
            owner=owner,
            requester=requester,
            renewers=tuple(map(str, renewers)),
            lifetime_ms=request.max_lifetime_ms,
            times=times_of(context),
            now_ms=services.clock.now_ms(),
        )
    )
    token = result.token
    if result.error or token is None:
        return _refused(context, request, ErrorCode.of(result.error))
    return _about(
        context,
        request,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.ends_ms,
        token_id=token.id,
        hmac=token_hmac(secret_of(context), token.id),
    )


def _owner(context: Context, request: CreateDelegationTokenRequest) -> Principal:
    if request.owner_principal_name:
        return Principal(request.owner_principal_type or "", request.owner_principal_name)
    return parse_principal(context.connection.principal)


def _refused(
    context: Context, request: CreateDelegationTokenRequest, error: ErrorCode
) -> CreateDelegationTokenResponse:
    return _about(context, request, error_code=error)


def _about(
    context: Context, request: CreateDelegationTokenRequest, **fields: int | str | bytes
) -> CreateDelegationTokenResponse:
    owner, requester = _owner(context, request), parse_principal(context.connection.principal)
    return CreateDelegationTokenResponse(
        principal_type=owner.kind,
        principal_name=owner.name,
        token_requester_principal_type=requester.kind,
        token_requester_principal_name=requester.name,
        **fields,  # type: ignore[arg-type]
    )
