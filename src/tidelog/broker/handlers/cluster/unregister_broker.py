"""UnregisterBroker: a broker that will not come back is taken out of the cluster's metadata."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.brokers.brokers import decide_unregister_broker
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


async def handle(context: Context, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    if not context.allows_on_cluster(Operation.ALTER):
        return UnregisterBrokerResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    try:
        services.controller.check_active()
        await services.metadata.change(lambda image: decide_unregister_broker(image, request.broker_id))
    except KafkaError as error:
        return UnregisterBrokerResponse(error_code=error.code, error_message=error.message)
    return UnregisterBrokerResponse()
