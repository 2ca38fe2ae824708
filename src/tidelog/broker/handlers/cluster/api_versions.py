"""ApiVersions: the APIs and versions of this broker. The first request of almost every client."""

import re

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers import HANDLERS
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.forwarding import BETWEEN_BROKERS
from tidelog.metadata.brokers.features import supported_features
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

# What a client may call itself (KIP-511); anything else is refused, since it ends up in logs and metrics.
SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

# Some releases of librdkafka stop compressing when Produce does not start at 0,
# so it is advertised from 0 on; requests below the real minimum are refused.
ADVERTISED_MIN = {ApiKey.PRODUCE: 0}

# Offered while metrics are on: clients that see them ask for a subscription every few minutes.
TELEMETRY = frozenset({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY})


def handle(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not SOFTWARE_NAME.fullmatch(name) or not SOFTWARE_NAME.fullmatch(version):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=_ranges(context))
        context.connection.software_name, context.connection.software_version = name, version
    metadata = context.services.metadata
    return ApiVersionsResponse(
        api_keys=_ranges(context),
        supported_features=[
            SupportedFeatureKey(name=known.name, min_version=known.min_level, max_version=known.max_level)
            for known in supported_features(context.version)
        ],
        finalized_features_epoch=metadata.version,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in metadata.image.features.items()
        ],
    )


def unsupported_version() -> ApiVersionsResponse:
    """Lists only the versions of ApiVersions itself (KIP-511): clients take a longer list for the complete
    response, in which the features are missing, or ask again in version 0, where they are missing, too."""
    own = [_range(ApiKey.API_VERSIONS)]
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=own)


def _ranges(context: Context) -> list[ApiVersion]:
    hidden = BETWEEN_BROKERS if context.services.client_metrics is not None else BETWEEN_BROKERS | TELEMETRY
    return [_range(key) for key in sorted(HANDLERS.keys() - hidden)]


def _range(key: ApiKey) -> ApiVersion:
    return ApiVersion(
        api_key=key,
        min_version=ADVERTISED_MIN.get(key, API[key].min_version),
        max_version=API[key].max_version,
    )
