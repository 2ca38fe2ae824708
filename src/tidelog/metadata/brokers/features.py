"""Features: what this software supports, what the cluster uses of it, and how that is raised.

Clients read both from ApiVersions. A level is raised only when every broker supports it. It is lowered only
where the image shows that nothing was written under the higher level, which is known of eligible leader
replicas alone: what brokers of an earlier version cannot read must not be left anywhere in the log.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.configs.min_insync import one_min_insync
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import (
    CLIENT_METRICS_VERSION,
    ELR_VERSION,
    MACHINE_VERSION,
    SECURITY_VERSION,
    SHARE_VERSION,
    ClusterImage,
)
from tidelog.metadata.image.records import ConfigChanged, FeatureChanged, FeatureRange, Record, ResourceKind
from tidelog.metadata.image.security_builder import SECURITY_RECORDS

METADATA_VERSION = "metadata.version"

SUPPORTED_FEATURES = (
    FeatureRange(METADATA_VERSION, 7, 30),  # 3.3-IV3 to 4.3-IV0 in Kafka's names
    FeatureRange("kraft.version", 0, 1),  # 1: voters can be added and removed
    FeatureRange("group.version", 0, 1),  # 1: the consumer group protocol of KIP-848
    FeatureRange(SHARE_VERSION, 0, 2),  # 1: share groups (KIP-932), 2: their dead letters (KIP-1191)
    FeatureRange("streams.version", 0, 1),  # 1: groups of Kafka Streams instances (KIP-1071)
    FeatureRange("transaction.version", 0, 2),  # 2: an epoch for each transaction (KIP-890)
    FeatureRange(ELR_VERSION, 0, 1),  # 1: eligible leader replicas (KIP-966)
    FeatureRange(SECURITY_VERSION, 0, 1),  # 1: ACLs, roles, SCRAM credentials, quotas, delegation tokens
    FeatureRange(CLIENT_METRICS_VERSION, 0, 1),  # 1: subscriptions to clients' metrics (KIP-714)
    FeatureRange(MACHINE_VERSION, 0, 1),  # 1: brokers register the machine that they share
)

_RANGES = {feature.name: feature for feature in SUPPORTED_FEATURES}


class UpgradeType(IntEnum):
    """As on the wire."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(msgspec.Struct, frozen=True):
    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


def supported_features(api_version: int) -> tuple[FeatureRange, ...]:
    """For an ApiVersions response. Version 3 cannot express a range from 0, so such features are left out
    there."""
    return tuple(feature for feature in SUPPORTED_FEATURES if feature.min_level or api_version > 3)


def decide_default_features(image: ClusterImage, config: BrokerConfig | None = None) -> Decision[None]:
    """What a cluster uses from its beginning: all of it. One that an early version made gets it now."""
    if METADATA_VERSION in image.features:
        return Decision([], [None])
    records = [FeatureChanged(feature.name, feature.max_level) for feature in SUPPORTED_FEATURES]
    return Decision([*records, *one_min_insync(image, config or BrokerConfig())], [None])


def decide_update_features(
    image: ClusterImage,
    updates: Sequence[FeatureUpdate],
    *,
    validate_only: bool = False,
    config: BrokerConfig | None = None,
) -> Decision[ItemResult]:
    """All of them or none: the single result is that of the whole request.

    Kafka's tool raises all features of a release at once. Those of which the cluster uses a higher level, as
    it may of `share.version`, keep it where the request raises the release itself.
    """
    if any(update.name == METADATA_VERSION for update in updates):
        updates = [update for update in updates if not _is_reached(image, update)]
    try:
        for update in updates:
            _check(image, update)
    except KafkaError as error:
        reason = (
            f"The update failed for all features since the following feature had an error: {error.message}"
        )
        return Decision([], [ItemResult(error=error.code, message=reason)])
    levels = {update.name: update.level for update in updates}
    records: list[Record] = [
        FeatureChanged(name, level)
        for name, level in levels.items()
        if level != image.features.get(name, 0) and not validate_only
    ]
    if records and levels.get(ELR_VERSION) and not image.has_elr:
        records += one_min_insync(image, config or BrokerConfig())
    return Decision(records, [ItemResult()])


def refusal_of_records(image: ClusterImage, records: Sequence[Record]) -> KafkaError | None:
    """Returns why these records must not be written, where the feature of one of them is at level 0.

    A broker of an earlier version stops at a record that it does not know. The first entry of a new cluster
    raises the level before its records on security.
    """
    raised = {record.name for record in records if isinstance(record, FeatureChanged) and record.level > 0}
    for feature, (is_of, what) in _GUARDED.items():
        is_on = image.features.get(feature, 0) > 0 or feature in raised
        if not is_on and any(map(is_of, records)):
            return KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"The cluster cannot store {what} yet: {feature} is at level 0. Once all brokers run this "
                f"version, raise it: tidelog cluster upgrade --feature {feature}=1",
            )
    return None


def _is_client_metrics(record: Record) -> bool:
    return isinstance(record, ConfigChanged) and record.resource_kind is ResourceKind.CLIENT_METRICS


_GUARDED: dict[str, tuple[Callable[[Record], bool], str]] = {
    SECURITY_VERSION: (
        lambda record: type(record) in SECURITY_RECORDS,
        "ACLs, users, quotas or tokens",
    ),
    CLIENT_METRICS_VERSION: (_is_client_metrics, "client metrics subscriptions"),
}
"""Records that earlier versions do not know, by the feature that allows them."""


def _is_reached(image: ClusterImage, update: FeatureUpdate) -> bool:
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    return (
        is_upgrade
        and update.name != METADATA_VERSION
        and 0 < update.level < image.features.get(update.name, 0)
    )


def _check(image: ClusterImage, update: FeatureUpdate) -> None:
    current = image.features.get(update.name, 0)
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if not UpgradeType.UPGRADE <= update.upgrade_type <= UpgradeType.UNSAFE_DOWNGRADE:
        raise _refused(update, "The controller does not support the given upgrade type.")
    if update.level < 0:
        raise _refused(update, "A feature version cannot be less than 0.")
    _check_range(update, "Local controller", _RANGES.get(update.name))
    for broker in image.brokers.values():
        if broker.features:  # else it runs on software that did not say so yet, as this one did
            known = {feature.name: feature for feature in broker.features}
            _check_range(update, f"Broker {broker.id}", known.get(update.name))
    if update.level < current and is_upgrade:
        raise _refused(
            update,
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade.",
        )
    if update.level > current and not is_upgrade:
        raise _refused(update, "Can't downgrade to a newer version.")
    if update.level < current and not (update.name == ELR_VERSION and not _keeps_elr(image)):
        raise _refused(
            update,
            "Refusing to perform the requested downgrade because it might delete metadata information.",
        )


def _keeps_elr(image: ClusterImage) -> bool:
    return any(partition.elr or partition.last_known_elr for _, partition in image.partitions())


def _check_range(update: FeatureUpdate, what: str, supported: FeatureRange | None) -> None:
    if supported is None or not supported.max_level:
        raise _refused(update, f"{what} does not support this feature.")
    if not supported.min_level <= update.level <= supported.max_level:
        versions = f"{supported.min_level}-{supported.max_level}"
        raise _refused(update, f"{what} only supports versions {versions}")


def _refused(update: FeatureUpdate, reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.level} for feature {update.name}. {reason}",
    )
