"""AlterClientQuotas: set and remove limits; each entity succeeds or fails for itself."""

from collections.abc import Sequence

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.quotas import AlteredQuota, QuotaEdit, decide_alter_quotas
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
)

NOT_AUTHORIZED = "This request needs the operation ALTER_CONFIGS on the cluster."


async def handle(context: Context, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    edits = [
        QuotaEdit(
            entity=[(part.entity_type, part.entity_name) for part in entry.entity],
            limits=[(op.key, None if op.remove else op.value) for op in entry.ops],
        )
        for entry in request.entries
    ]
    if not context.allows_on_cluster(Operation.ALTER_CONFIGS):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _response([AlteredQuota(entity=e.entity, error=code, message=NOT_AUTHORIZED) for e in edits])
    results = await context.services.metadata.change(
        lambda image: decide_alter_quotas(image, edits, validate_only=request.validate_only)
    )
    return _response(results)


def _response(results: Sequence[AlteredQuota]) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=result.error,
                error_message=result.message,
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in result.entity],
            )
            for result in results
        ]
    )
