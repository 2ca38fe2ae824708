"""DescribeAcls: there is no authorizer, and so no rule that could be listed."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

NO_AUTHORIZER = "No Authorizer is configured."
"""Kafka's own text, which its tools and connectors recognise and skip."""


def handle(context: Context, request: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
