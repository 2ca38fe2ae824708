"""DescribeDelegationToken: the tokens of some owners or of all, as far as the client may see them.

A client sees tokens that it owns, requested or may renew, with their HMAC, and others with DESCRIBE on the
token or DESCRIBE_TOKENS on its owner, as in Kafka.
"""

from tidelog.broker.handlers.authentication.delegation_tokens import refusal_here, secret_of
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.security import DelegationToken
from tidelog.metadata.security.tokens import described_tokens, token_hmac
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.security.principal import Principal, parse_principal
from tidelog.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


def handle(context: Context, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    error = refusal_here(context)
    if error is not None:
        return DescribeDelegationTokenResponse(error_code=error)
    owners = None
    if request.owners is not None:
        owners = {str(Principal(each.principal_type, each.principal_name)) for each in request.owners}
    services, secret = context.services, secret_of(context)
    tokens = described_tokens(services.metadata.image, owners, services.clock.now_ms())
    return DescribeDelegationTokenResponse(
        tokens=[_described(token, secret) for token in tokens if _may_see(context, token)]
    )


def _may_see(context: Context, token: DelegationToken) -> bool:
    if context.connection.principal in (token.owner, token.requester, *token.renewers):
        return True
    if context.services.authorizer is None:
        return False
    return context.may_see(ResourceType.DELEGATION_TOKEN, token.id) or context.services.authorizer.allows(
        context.connection.principal,
        context.connection.host,
        Operation.DESCRIBE_TOKENS,
        ResourceType.USER,
        token.owner,
    )


def _described(token: DelegationToken, secret: bytes) -> DescribedDelegationToken:
    owner, requester = parse_principal(token.owner), parse_principal(token.requester)
    renewers = map(parse_principal, token.renewers)
    return DescribedDelegationToken(
        principal_type=owner.kind,
        principal_name=owner.name,
        token_requester_principal_type=requester.kind,
        token_requester_principal_name=requester.name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.ends_ms,
        token_id=token.id,
        hmac=token_hmac(secret, token.id),
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=each.kind, principal_name=each.name)
            for each in renewers
        ],
    )
