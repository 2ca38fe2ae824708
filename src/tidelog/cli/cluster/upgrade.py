"""`tidelog cluster features` and `tidelog cluster upgrade`: see the levels of features, and raise them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import click

from tidelog.cli.cluster.features import (
    FeatureChange,
    FeaturesView,
    Range,
    UpgradePlan,
    look_at_features,
    plan_upgrade,
)
from tidelog.cli.cluster.view import numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json, print_table
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.metadata.brokers.features import UpgradeType

LEVEL_MAX = (1 << 15) - 1


class FeatureLevel(click.ParamType[tuple[str, int]]):
    name = "feature"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        name, equals, level = str(value).partition("=")
        if not (name and equals and level.isdecimal() and int(level) <= LEVEL_MAX):
            self.fail(f"'{value}' is not NAME=LEVEL, such as group.version=1.", param, ctx)
        return name, int(level)


@click.command()
@broker_options
@pass_session
def features(session: Session) -> None:
    """Show the level of each feature that the cluster uses, and the levels that its brokers support."""
    view = look_at_features(DirectCluster(session))
    if session.json:
        print_json(features_json(view))
    else:
        show_features(view)


@click.command()
@click.option(
    "--feature",
    "wanted",
    type=FeatureLevel(),
    multiple=True,
    metavar="NAME=LEVEL",
    help="Only this feature, to this level. Repeatable. [default: all, to what every broker supports]",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and let the controller check it.")
@click.option(
    "--downgrade",
    is_flag=True,
    help="Lower the features named by --feature, where the controller finds that safe.",
)
@broker_options
@pass_session
def upgrade(session: Session, wanted: Sequence[tuple[str, int]], dry_run: bool, downgrade: bool) -> None:
    """Raise the features of the cluster, once all brokers run the new version.

    Restart the brokers on the new version one by one first. While a broker does not support a level, or is
    away, the command refuses and names it. There is hardly a way back: brokers of an earlier version cannot
    join a cluster whose features they do not support.
    """
    if downgrade and not wanted:
        raise click.UsageError("Name what to lower: --downgrade --feature NAME=LEVEL.")
    direct = DirectCluster(session)
    plan = plan_upgrade(look_at_features(direct), dict(wanted) if wanted else None)
    if plan.refusals:
        raise CliError(
            f"The features were not changed. {' '.join(plan.refusals)}",
            attempt="tidelog cluster features",
            code=Exit.REFUSED,
        )
    if plan.changes:
        update_features(direct, plan.changes, dry_run=dry_run, downgrade=downgrade)
    if session.json:
        print_json(plan_json(plan, dry_run))
    else:
        show_plan(plan, dry_run)


def update_features(
    direct: DirectCluster, changes: Sequence[FeatureChange], *, dry_run: bool, downgrade: bool
) -> None:
    from tidelog.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

    lowering = UpgradeType.SAFE_DOWNGRADE if downgrade else UpgradeType.UPGRADE
    request = UpdateFeaturesRequest(
        timeout_ms=int(direct.session.timeout_s * 1000),
        feature_updates=[
            FeatureUpdateKey(
                feature=change.name,
                max_version_level=change.level,
                upgrade_type=UpgradeType.UPGRADE if change.level > change.current else lowering,
            )
            for change in changes
        ],
        validate_only=dry_run,
    )
    answer = direct.ask(request, at_least=1)
    if answer.error_code:
        raise refusal(
            answer.error_code,
            answer.error_message,
            "The features were not changed",
            attempt="tidelog cluster features",
        )


def features_json(view: FeaturesView) -> dict[str, Any]:
    return {
        "features": [
            {
                "name": name,
                "level": view.levels.get(name, 0),
                "supported": [
                    {"broker": broker, "min": low, "max": high}
                    for broker, (low, high) in sorted(view.ranges_of(name).items())
                ],
            }
            for name in view.names
        ],
        "brokers_away": list(view.away),
    }


def show_features(view: FeaturesView) -> None:
    rows = [(name, view.levels.get(name, 0), supported_text(view.ranges_of(name))) for name in view.names]
    print_table(("Feature", ">Level", "Supported"), rows)
    if view.away:
        print(f"\nBroker {numbers_text(view.away)} does not answer.")
    plan = plan_upgrade(view)
    if plan.changes:
        print("\nAll brokers support more: tidelog cluster upgrade")


def supported_text(ranges: dict[int, Range]) -> str:
    """One range where all brokers agree, else each with its brokers."""
    brokers: dict[Range, list[int]] = defaultdict(list)
    for broker, levels in ranges.items():
        brokers[levels].append(broker)
    shown = {levels: f"{levels[0]} to {levels[1]}" if levels[1] else "no" for levels in brokers}
    if len(brokers) == 1:
        return next(iter(shown.values()))
    return ", ".join(f"{shown[levels]} (broker {numbers_text(ids)})" for levels, ids in brokers.items())


def plan_json(plan: UpgradePlan, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "changes": [
            {"feature": change.name, "from": change.current, "to": change.level} for change in plan.changes
        ],
    }


def show_plan(plan: UpgradePlan, dry_run: bool) -> None:
    if not plan.changes:
        print("Nothing to change: the features have these levels already.")
        return
    print_table(
        ("Feature", ">From", ">To"), [(change.name, change.current, change.level) for change in plan.changes]
    )
    print("\nNothing was changed: --dry-run." if dry_run else "\nThe cluster uses these levels now.")
