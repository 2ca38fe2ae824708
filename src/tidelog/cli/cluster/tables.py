"""What the cluster commands show: the same facts as JSON for programs and as tables for people."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tidelog.base.units import size_text
from tidelog.cli.cluster.health import Health, Report
from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.cluster.quorum import Quorum
from tidelog.cli.cluster.view import Broker, ClusterView, numbers_text
from tidelog.cli.output import print_table, say

Row = dict[str, Any]
COLOURS = {Health.HEALTHY: "green", Health.DEGRADED: "yellow", Health.IMPAIRED: "red"}


def show_status(report: Report) -> None:
    from rich.markup import escape

    view, quorum = report.view, report.quorum
    colour = COLOURS[report.health]
    say(f"Cluster [bold]{escape(view.cluster_id)}[/] is [bold {colour}]{report.health.value}[/]")
    leader = "none" if quorum is None or quorum.leader is None else str(quorum.leader)
    rows: list[tuple[str, object]] = [
        ("Brokers", _alive(view, quorum)),
        *(("Machine", _machine(name, brokers)) for name, brokers in view.machines.items()),
        ("Controller", leader if quorum is None else f"{leader}, epoch {quorum.epoch}"),
        ("Voters", "-" if quorum is None else ", ".join(str(member.id) for member in quorum.voters)),
        (
            "Topics",
            f"{len(view.topics)}, with {_partitions(len(view.partitions))}" if view.topics else "none",
        ),
        ("Not in sync", _partitions(len(report.under_replicated))),
        ("Without leader", _partitions(len(report.leaderless))),
    ]
    if report.reassigning:
        rows.append(
            ("On the move", f"{_partitions(len(report.reassigning))}: tidelog topic reassign --status")
        )
    if away := len(report.electable):
        rows.append(
            (
                "Led elsewhere",
                f"{_partitions(away)}, not by the preferred leader: tidelog cluster elect-leaders",
            )
        )
    print_table((), rows)
    for finding in report.findings():
        print()
        say(f"[{COLOURS[finding.health]}]{escape(finding.what)}[/]")
        if finding.attempt:
            say(f"  Try: {escape(finding.attempt)}")


def _alive(view: ClusterView, quorum: Quorum | None) -> str:
    if quorum is None:  # what brokers remember of each other is from before
        return f"{len(view.brokers)} registered; which of them are alive is unknown without a controller"
    return f"{len(view.alive)} of {len(view.brokers)} alive"


def _machine(name: str, brokers: Sequence[Broker]) -> str:
    """One line for each machine, which unfolds into its brokers."""
    down = [broker.id for broker in brokers if broker.fenced]
    state = (
        "all alive" if not down else "down" if len(down) == len(brokers) else f"{numbers_text(down)} fenced"
    )
    return f"{name}: {numbers_text(broker.id for broker in brokers)}, {state}"


def _partitions(count: int) -> str:
    return f"{count} partition{'s' if count != 1 else ''}" if count else "none"


def broker_rows(
    view: ClusterView, quorum: Quorum | None, stored: Mapping[int, Stored], silent: Collection[int] = ()
) -> list[Row]:
    """A broker that is `silent` may be alive for the controller, which misses it a little later."""
    votes = {member.id: member.votes for member in quorum.members} if quorum else {}
    rows = []
    for broker in view.brokers.values():
        held = [part for part in view.partitions.values() if broker.id in part.replicas]
        disk = stored.get(broker.id)
        rows.append(
            {
                "id": broker.id,
                "host": broker.host,
                "port": broker.port,
                "rack": broker.rack,
                "machine": broker.machine,
                "alive": not broker.fenced,
                "answers": not broker.fenced and broker.id not in silent,
                "controller": quorum is not None and quorum.leader == broker.id,
                "voter": votes.get(broker.id, False),
                "leaders": sum(part.leader == broker.id for part in held),
                "preferred_leaders": sum(part.preferred == broker.id for part in held),
                "replicas": len(held),
                "not_in_sync": sum(broker.id not in part.in_sync for part in held),
                "size_bytes": disk.used_bytes if disk else None,
                "free_bytes": disk.free_bytes if disk else None,
                "draining": disk.cordoned if disk else None,
                "failed_folders": disk.failed_log_dirs if disk else None,
            }
        )
    return rows


def show_brokers(rows: list[Row]) -> None:
    columns = [
        "Broker",
        "Address",
        "Rack",
        "Machine",
        "State",
        ">Leaders",
        ">Replicas",
        ">Not in sync",
        ">Size",
        ">Free",
    ]
    shown = [
        [
            row["id"],
            f"{row['host']}:{row['port']}",
            row["rack"],
            row["machine"],
            broker_state(row),
            row["leaders"],
            row["replicas"],
            row["not_in_sync"],
            None if row["size_bytes"] is None else size_text(row["size_bytes"]),
            None if row["free_bytes"] is None else size_text(row["free_bytes"]),
        ]
        for row in rows
    ]
    for place, name in ((3, "machine"), (2, "rack")):
        if not any(row[name] for row in rows):
            del columns[place]
            for cells in shown:
                del cells[place]
    print_table(columns, shown)


def broker_state(row: Row) -> str:
    state = "alive" if row["answers"] else "does not answer" if row["alive"] else "fenced"
    if row["controller"]:
        state += ", controller"
    elif row["voter"]:
        state += ", voter"
    if row["draining"]:
        state += ", draining"
    if row["failed_folders"]:
        state += f", {row['failed_folders']} log dir(s) failed"
    return state


def member_rows(quorum: Quorum, now_ms: int, addresses: Mapping[int, str]) -> list[Row]:
    """`addresses` are those of registered brokers; the quorum itself knows only where its voters are."""
    return [
        {
            "id": member.id,
            "role": "leader" if member.id == quorum.leader else "voter" if member.votes else "observer",
            "address": member.address or addresses.get(member.id),
            "directory": member.directory_text,
            "end_offset": member.end_offset if member.end_offset >= 0 else None,
            "lag": quorum.lag(member),
            "last_contact_ms_ago": None if member.fetched_ms is None else max(0, now_ms - member.fetched_ms),
            "caught_up_ms_ago": None if member.caught_up_ms is None else max(0, now_ms - member.caught_up_ms),
        }
        for member in quorum.members
    ]


def show_quorum(quorum: Quorum, now_ms: int, addresses: Mapping[int, str]) -> None:
    votes = len(quorum.voters)
    leader = "no leader" if quorum.leader is None else f"broker {quorum.leader} leads"
    say(
        f"[bold]Metadata quorum[/]  {leader}, epoch {quorum.epoch}, "
        f"{votes} voter{'s' if votes != 1 else ''}, {votes // 2 + 1} must agree, "
        f"committed up to {quorum.high_watermark}"
    )
    print_table(
        ("Broker", "Role", "Address", "Directory", ">End", ">Lag", ">Last contact", ">Caught up"),
        [
            (
                row["id"],
                row["role"],
                row["address"],
                row["directory"],
                row["end_offset"],
                row["lag"],
                _ago(row["last_contact_ms_ago"]),
                _ago(row["caught_up_ms_ago"]),
            )
            for row in member_rows(quorum, now_ms, addresses)
        ],
    )


def _ago(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    if milliseconds < 1000:
        return "now"
    seconds = milliseconds // 1000
    return f"{seconds} s ago" if seconds < 120 else f"{seconds // 60} min ago"
