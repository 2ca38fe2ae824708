"""What `tidelog cluster status --watch` shows at a turn: the cluster, its brokers, and groups that lag."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.base.units import size_text
from tidelog.cli.cluster.health import Report
from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.cluster.tables import broker_rows, broker_state, show_status
from tidelog.cli.output import print_table

GROUPS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class LiveStatus:
    report: Report
    stored: Mapping[int, Stored]
    silent: frozenset[int]
    groups: Sequence[Mapping[str, Any]] | None
    """One row a group, as `tidelog group lag` makes them; None where they cannot be seen."""

    def brokers(self) -> list[dict[str, Any]]:
        quorum = self.report.quorum
        lags = {member.id: quorum.lag(member) for member in quorum.members} if quorum else {}
        rows = broker_rows(self.report.view, quorum, self.stored, self.silent)
        return [row | {"metadata_lag": lags.get(row["id"])} for row in rows]

    def groups_by_lag(self) -> list[Mapping[str, Any]]:
        return sorted(self.groups or (), key=lambda row: (-(row["lag"] or 0), row["group"]))

    @property
    def lag(self) -> int | None:
        """Of all groups together."""
        return None if self.groups is None else sum(row["lag"] or 0 for row in self.groups)

    def as_json(self) -> dict[str, Any]:
        return self.report.as_json() | {"broker_states": self.brokers(), "groups": self.groups_by_lag()}

    def line(self, moment: str) -> str:
        """One line, for a pipe."""
        report, view, quorum = self.report, self.report.view, self.report.quorum
        lags = [row["metadata_lag"] for row in self.brokers() if row["metadata_lag"] is not None]
        figures = {
            "brokers": f"{len(view.alive)}/{len(view.brokers)}",
            "controller": None if quorum is None else quorum.leader,
            "partitions": len(view.partitions),
            "under_replicated": len(report.under_replicated),
            "below_min_in_sync": len(report.below_min_in_sync),
            "offline": len(report.leaderless),
            "metadata_lag": max(lags, default=None),
            "group_lag": self.lag,
        }
        shown = " ".join(f"{name}={'-' if value is None else value}" for name, value in figures.items())
        return f"{moment} {report.health.value} {shown}"


def show_live(live: LiveStatus) -> None:
    show_status(live.report)
    print()
    print_table(
        ("Broker", "State", ">Leaders", ">Replicas", ">Not in sync", ">Metadata lag", ">Size", ">Free"),
        [
            (
                row["id"],
                broker_state(row),
                row["leaders"],
                row["replicas"],
                row["not_in_sync"],
                row["metadata_lag"],
                _size(row["size_bytes"]),
                _size(row["free_bytes"]),
            )
            for row in live.brokers()
        ],
    )
    groups = live.groups_by_lag()
    if groups:
        print()
        print_table(
            ("Group", "State", ">Members", ">Lag"),
            [(row["group"], row["state"], row["members"], row["lag"]) for row in groups[:GROUPS_SHOWN]],
        )
        if len(groups) > GROUPS_SHOWN:
            print(f"and {len(groups) - GROUPS_SHOWN} groups that lag less: tidelog group lag --watch")


def _size(count: int | None) -> str | None:
    return None if count is None else size_text(count)
