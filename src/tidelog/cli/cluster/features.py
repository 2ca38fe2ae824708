"""The features of a cluster: the level in use, what every broker supports, and what an upgrade changes.

`plan_upgrade` is pure: it raises each feature to what all brokers support, or says which brokers forbid it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import look_at_brokers, numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal

RANGES_FROM_ZERO = 4
"""The version of ApiVersions from which on a range may begin at 0."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FeaturesView:
    levels: Mapping[str, int]
    """What the cluster uses; a feature that is not listed is at 0."""
    supported: Mapping[int, Mapping[str, Range]]
    """The lowest and highest level of each feature, by broker; only brokers that answer."""
    away: Sequence[int]
    """Registered brokers that do not answer."""

    @property
    def names(self) -> list[str]:
        return sorted({*self.levels, *(name for ranges in self.supported.values() for name in ranges)})

    def ranges_of(self, name: str) -> dict[int, Range]:
        """By broker; a broker that does not know the feature has the range of level 0."""
        return {broker: ranges.get(name, (0, 0)) for broker, ranges in self.supported.items()}


@dataclass(frozen=True, slots=True)
class FeatureChange:
    name: str
    current: int
    level: int


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    changes: Sequence[FeatureChange] = ()
    refusals: Sequence[str] = ()
    """Why nothing may change; empty if it may."""


def plan_upgrade(view: FeaturesView, wanted: Mapping[str, int] | None = None) -> UpgradePlan:
    """Returns the changes to the levels that are `wanted`, or of all features to the highest levels.

    All brokers must be there: a broker that is away may run an earlier version, and could not come back.
    """
    refusals = []
    if view.away:
        refusals.append(
            f"Broker {numbers_text(view.away)} is registered and does not answer. Start it on the new "
            f"version; or, if it is gone for good: tidelog cluster unregister {view.away[0]}"
        )
    changes = []
    for name in view.names if wanted is None else wanted:
        ranges = view.ranges_of(name)
        current = view.levels.get(name, 0)
        level = (
            max((high for _, high in ranges.values()), default=current) if wanted is None else wanted[name]
        )
        if wanted is None and level <= current:
            continue
        unable = [broker for broker, (low, high) in ranges.items() if not low <= level <= high]
        if unable:
            shown = ", ".join(f"broker {broker} {_range_text(ranges[broker])}" for broker in sorted(unable))
            refusals.append(
                f"{name} cannot be {level}: {shown}. Restart it on the new version first."
                if any(high >= level for _, high in ranges.values())
                else f"{name} cannot be {level}: no broker supports that level ({shown})."
            )
        elif level != current:
            changes.append(FeatureChange(name, current, level))
    return UpgradePlan((), refusals) if refusals else UpgradePlan(changes)


def _range_text(levels: Range) -> str:
    low, high = levels
    return f"supports {low} to {high}" if high else "does not support it"


def look_at_features(direct: DirectCluster) -> FeaturesView:
    """Asks every broker for itself, and takes the levels from the one with the newest metadata."""
    from tidelog.wire.messages.api_versions import ApiVersionsRequest

    request = ApiVersionsRequest(client_software_name="tidelog-cli", client_software_version="1")
    supported: dict[int, Mapping[str, Range]] = {}
    away: list[int] = []
    levels: tuple[int, dict[str, int]] = (-1, {})
    for broker in look_at_brokers(direct).brokers.values():
        if broker.fenced:
            away.append(broker.id)
            continue
        try:
            answer = direct.ask_broker((broker.host, broker.port), request, at_least=RANGES_FROM_ZERO)
        except Disconnected:
            away.append(broker.id)
            continue
        if answer.error_code:
            raise refusal(answer.error_code, None, f"Broker {broker.id} does not say what it supports")
        supported[broker.id] = {
            one.name: (one.min_version, one.max_version) for one in answer.supported_features
        }
        finalized = {one.name: one.max_version_level for one in answer.finalized_features}
        levels = max(levels, (answer.finalized_features_epoch, finalized), key=lambda found: found[0])
    return FeaturesView(levels[1], supported, away)
