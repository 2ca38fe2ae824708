"""AllocateProducerIds: a broker takes a block of producer ids, which no other broker will ever use."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.brokers.producer_ids import decide_producer_id_block
from tidelog.metadata.brokers.registration_rules import check_broker_epoch
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.image import ClusterImage
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


async def handle(context: Context, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
    services = context.services
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        return AllocateProducerIdsResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, producer_id_start=-1
        )

    def decide(image: ClusterImage) -> Decision[range]:
        check_broker_epoch(image, request.broker_id, request.broker_epoch)
        return decide_producer_id_block(image, broker_id=request.broker_id)

    try:
        services.controller.check_active()
        [block] = await services.metadata.change(decide)
    except KafkaError as error:
        return AllocateProducerIdsResponse(error_code=error.code, producer_id_start=-1)
    return AllocateProducerIdsResponse(producer_id_start=block.start, producer_id_len=len(block))
