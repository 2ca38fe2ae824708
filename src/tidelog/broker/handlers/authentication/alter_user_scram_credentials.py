"""AlterUserScramCredentials: set and delete the SCRAM credentials of users.

Connections that are authenticated stay, as in Kafka: a change takes effect with the next authentication.
"""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.scram import ScramDeletion, ScramUpsertion, decide_alter_scram
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


async def handle(
    context: Context, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    if not context.allows_on_cluster(Operation.ALTER):
        users = dict.fromkeys(
            [each.name for each in request.deletions] + [each.name for each in request.upsertions]
        )
        refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return AlterUserScramCredentialsResponse(
            results=[
                AlterUserScramCredentialsResult(user=user, error_code=refused, error_message=refused.text)
                for user in users
            ]
        )
    deletions = [ScramDeletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        ScramUpsertion(
            each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password)
        )
        for each in request.upsertions
    ]
    results = await context.services.metadata.change(
        lambda image: decide_alter_scram(image, upsertions, deletions)
    )
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=result.user, error_code=result.error, error_message=result.message
            )
            for result in results
        ]
    )
