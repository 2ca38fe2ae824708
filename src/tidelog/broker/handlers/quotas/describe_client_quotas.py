"""DescribeClientQuotas: the limits that are set for the entities that a filter selects."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.security_builder import entity_text
from tidelog.metadata.security.quotas import QuotaFilter, described_quotas
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

EXACT, DEFAULT, ANY = range(3)
NOT_AUTHORIZED = "This request needs the operation DESCRIBE_CONFIGS on the cluster."


def handle(context: Context, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    try:
        if not context.allows_on_cluster(Operation.DESCRIBE_CONFIGS):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NOT_AUTHORIZED)
        filters = [_filter(component) for component in request.components]
        selected = list(described_quotas(context.services.metadata.image, filters, strict=request.strict))
    except KafkaError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message)
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                entity=[
                    EntityData(entity_type=kind, entity_name=name)
                    for kind, name in entity_text(entity).items()
                ],
                values=[ValueData(key=key.value, value=value) for key, value in limits.items()],
            )
            for entity, limits in selected
        ]
    )


def _filter(component: ComponentData) -> QuotaFilter:
    kind, name = component.entity_type, component.match
    if component.match_type not in (EXACT, DEFAULT, ANY):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown match type {component.match_type}")
    if (component.match_type == EXACT) != (name is not None):
        said = "but set match string to null" if name is None else "but also specified a match string"
        match = ("MATCH_TYPE_EXACT", "MATCH_TYPE_DEFAULT", "MATCH_TYPE_SPECIFIED")[component.match_type]
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Request specified {match}, {said}.")
    return QuotaFilter(kind, name, any_name=component.match_type == ANY)
