"""A call and its outcome as messages between two brokers (RegistryCall).

Bodies travel as records do, which may be larger than anything else in a message.
"""

from tidelog.base.errors import ErrorCode
from tidelog.base.ports import FileSlice
from tidelog.broker.registry.calls import Answer, Call
from tidelog.broker.registry.outcome import Again
from tidelog.wire.messages.registry_call import RegistryCallRequest, RegistryCallResponse

_CODES = {
    (False, False): ErrorCode.NOT_COORDINATOR,
    (True, False): ErrorCode.REQUEST_TIMED_OUT,
    (False, True): ErrorCode.INVALID_REQUEST,
    (True, True): ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""By whether the call may have run, and whether another try is in vain."""
_MEANINGS = {code: meaning for meaning, code in _CODES.items()}


def request_of(call: Call, cluster_id: str) -> RegistryCallRequest:
    return RegistryCallRequest(
        cluster_id=cluster_id,
        method=call.method,
        path=call.path,
        query=call.query,
        body=memoryview(call.body),
        principal=call.principal,
        client_host=call.host,
    )


def call_of(request: RegistryCallRequest) -> Call:
    return Call(
        method=request.method,
        path=request.path,
        query=request.query,
        body=bytes(request.body or b""),
        principal=request.principal,
        host=request.client_host,
    )


def response_of(outcome: Answer | Again) -> RegistryCallResponse:
    if isinstance(outcome, Again):
        code = _CODES[outcome.may_have_run, outcome.is_final]
        return RegistryCallResponse(error_code=code, error_message=outcome.reason)
    return RegistryCallResponse(status=outcome.status, body=outcome.body)


def outcome_of(response: RegistryCallResponse) -> Answer | Again:
    if response.error_code:
        code = ErrorCode.of(response.error_code)
        may_have_run, is_final = _MEANINGS.get(code, (False, False))
        return Again(response.error_message or code.text, may_have_run, is_final)
    body = response.body
    return Answer(response.status, body.read() if isinstance(body, FileSlice) else bytes(body))
