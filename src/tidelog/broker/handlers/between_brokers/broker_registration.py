"""BrokerRegistration: a broker process registers with the controller."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.records import Endpoint, FeatureRange
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse


async def handle(context: Context, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        return BrokerRegistrationResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    names = [listener.name for listener in request.listeners]
    if len(set(names)) < len(names) or not names:
        return BrokerRegistrationResponse(error_code=ErrorCode.INVALID_REGISTRATION)
    broker = BrokerImage(
        request.broker_id,
        NO_EPOCH,
        request.incarnation_id,
        {where.name: Endpoint(where.name, where.host, where.port) for where in request.listeners},
        request.rack,
        tuple(request.log_dirs),
        features=tuple(
            FeatureRange(known.name, known.min_supported_version, known.max_supported_version)
            for known in request.features
        ),
        machine=request.machine,
    )
    try:
        epoch = await context.services.controller.register(
            broker, request.cluster_id, previous_epoch=request.previous_broker_epoch
        )
    except KafkaError as error:
        return BrokerRegistrationResponse(error_code=error.code)
    return BrokerRegistrationResponse(broker_epoch=epoch)
