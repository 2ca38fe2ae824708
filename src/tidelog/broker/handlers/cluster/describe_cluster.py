"""DescribeCluster: the brokers, and which of them is the controller."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS = 1
CONTROLLERS = 2


def handle(context: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    metadata = context.services.metadata
    if request.endpoint_type != BROKERS:
        is_valid = request.endpoint_type == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE
            if is_valid
            else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="this listener serves brokers' clients; ask for endpoint type 1",
            endpoint_type=BROKERS,
        )
    response = DescribeClusterResponse(
        cluster_id=metadata.image.cluster_id,
        controller_id=metadata.advertised_controller,
        endpoint_type=request.endpoint_type,
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.id,
                host=where.host,
                port=where.port,
                rack=broker.rack,
                is_fenced=broker.fenced,
                machine=broker.machine,
            )
            for broker in metadata.image.brokers.values()
            if (where := broker.endpoints.get(context.connection.listener)) is not None
            and (request.include_fenced_brokers or not broker.fenced)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = context.operations_on_cluster()
    return response
