"""DescribeUserScramCredentials: which users have credentials, and of which strength; never the keys."""

from collections import Counter

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def handle(
    context: Context, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return DescribeUserScramCredentialsResponse(error_code=refused, error_message=refused.text)
    security = context.services.metadata.image.security
    described: dict[str, list[CredentialInfo]] = {}
    for (user, mechanism), credential in security.credentials.items():
        info = CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
        described.setdefault(user, []).append(info)
    asked_for = Counter(user.name for user in request.users or ())
    names = asked_for or Counter(iter(described))
    return DescribeUserScramCredentialsResponse(
        results=[_result(user, times, described) for user, times in names.items()]
    )


def _result(
    user: str, times: int, described: dict[str, list[CredentialInfo]]
) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message="Cannot describe SCRAM credentials for the same user twice in a single request: "
            f"{user}",
        )
    if user not in described:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    return DescribeUserScramCredentialsResult(user=user, credential_infos=described[user])
