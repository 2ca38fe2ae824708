"""UpdateFeatures: enable features that all brokers of the cluster support."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.brokers.features import FeatureUpdate, UpgradeType, decide_update_features
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


async def handle(context: Context, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    if not context.allows_on_cluster(Operation.ALTER):
        return UpdateFeaturesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    updates = [_update(context, asked) for asked in request.feature_updates]
    try:
        services.controller.check_active()
        [result] = await services.metadata.change(
            lambda image: decide_update_features(
                image, updates, validate_only=request.validate_only, config=services.config
            )
        )
    except KafkaError as error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
    return UpdateFeaturesResponse(
        error_code=result.error,
        error_message=result.message,
        results=[
            UpdatableFeatureResult(feature=update.name, error_code=result.error, error_message=result.message)
            for update in updates
        ],
    )


def _update(context: Context, asked: FeatureUpdateKey) -> FeatureUpdate:
    if context.version >= 1:
        return FeatureUpdate(asked.feature, asked.max_version_level, asked.upgrade_type)
    kind = UpgradeType.SAFE_DOWNGRADE if asked.allow_downgrade else UpgradeType.UPGRADE
    return FeatureUpdate(asked.feature, asked.max_version_level, kind)
