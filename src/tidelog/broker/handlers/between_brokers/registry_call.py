"""RegistryCall: another broker passes on a call of the schema registry's API to the leader of `_schemas`.

The sender must be a broker, by its permission CLUSTER_ACTION; then the caller's principal decides, which it
names.
"""

from tidelog.base.errors import ErrorCode
from tidelog.broker.registry.messages import call_of, response_of
from tidelog.broker.registry.outcome import Again
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.registry_call import RegistryCallRequest, RegistryCallResponse


async def handle(context: Context, request: RegistryCallRequest) -> RegistryCallResponse:
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return RegistryCallResponse(error_code=code, error_message=code.text)
    services = context.services
    metadata = services.metadata
    if request.cluster_id != metadata.image.cluster_id:
        code = ErrorCode.INCONSISTENT_CLUSTER_ID
        return RegistryCallResponse(error_code=code, error_message=code.text)
    if services.registry is None:
        off = (
            f"it is off on broker {metadata.node_id}, which has to answer: set schema.registry.port on every "
            "broker, and restart it"
        )
        return response_of(Again(off, is_final=True))
    return response_of(await services.registry.service.here.run(call_of(request)))
