"""Brokers that are away or not ready, damaged logs, open files, mixed versions, features that lag behind."""

from collections import defaultdict
from collections.abc import Iterator

from tidelog.cli.cluster.features import plan_upgrade
from tidelog.cli.cluster.view import numbers_text
from tidelog.cli.doctor.checks.facts import BrokerState, DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity

FILES_SHARE, FILES_LIMIT_MIN = 0.8, 10_000


def check_brokers(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for broker in facts.report.view.brokers.values():
        if broker.fenced:
            yield CheckFinding(
                "broker-away",
                Severity.SERIOUS,
                f"broker {broker.id}",
                "it is registered and not alive",
                "its replicas are missing, and so is its vote if it has one.",
                f"start it again, or remove it: tidelog cluster drain {broker.id}",
            )
    for state in facts.states.values():
        yield from _of_state(state)


def _of_state(state: BrokerState) -> Iterator[CheckFinding]:
    where = f"broker {state.id}"
    if not state.ready:
        yield CheckFinding(
            "broker-not-ready",
            Severity.MEDIUM,
            where,
            "; ".join(state.reasons) or "it is not ready",
            "load balancers and Kubernetes send it no clients.",
            "wait, if it starts; else see its log",
        )
    if state.damaged_total:
        shown = ", ".join(f"{one.topic}:{one.partition} ({one.reason})" for one in state.damaged[:3])
        yield CheckFinding(
            "logs-damaged",
            Severity.SERIOUS,
            where,
            f"{state.damaged_total} of its logs cannot be used: {shown}",
            "its replicas of them are offline.",
            "see the broker's log; stop it and run tidelog log check on its log dirs",
        )
    if state.recovered_logs:
        yield CheckFinding(
            "unclean-stop",
            Severity.LOW,
            where,
            f"its last start checked {state.recovered_logs} logs, since it had not been stopped cleanly",
            "a crash, a power cut or a kill -9 ended it; its start took longer than need be.",
            "see why it ended: the system's log, the memory limit; stop brokers with SIGTERM and wait",
        )


def check_open_files(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for state in facts.states.values():
        limit, used = state.open_files_max, state.open_files
        if limit is None or used is None or limit < 0 or used < 0:
            continue
        if used > FILES_SHARE * limit:
            yield CheckFinding(
                "files-nearly-used-up",
                Severity.SERIOUS,
                f"broker {state.id}",
                f"{used:,} of {limit:,} files and sockets are open",
                "when none is left, clients are turned away and segments cannot be opened.",
                "raise the limit (LimitNOFILE in systemd, ulimit -n), and restart the broker",
            )
        elif limit < FILES_LIMIT_MIN:
            yield CheckFinding(
                "low-file-limit",
                Severity.LOW,
                f"broker {state.id}",
                f"it may open {limit:,} files and sockets at most",
                "every segment takes up to four files, every client a socket.",
                f"raise the limit to {FILES_LIMIT_MIN:,} or more (LimitNOFILE in systemd, ulimit -n)",
            )


def check_versions(facts: DoctorFacts) -> Iterator[CheckFinding]:
    versions: dict[str, list[int]] = defaultdict(list)
    for state in facts.states.values():
        versions[state.version].append(state.id)
    if len(versions) > 1:
        shown = ", ".join(
            f"{version or 'unknown'} on broker {numbers_text(ids)}"
            for version, ids in sorted(versions.items())
        )
        yield CheckFinding(
            "versions-mixed",
            Severity.MEDIUM,
            "the cluster",
            f"brokers run different versions: {shown}",
            "that is meant for the time of an upgrade alone; new features stay off.",
            "upgrade the rest, one by one; then tidelog cluster upgrade",
        )
    plan = plan_upgrade(facts.features)
    if plan.changes:
        shown = ", ".join(f"{change.name} {change.current} -> {change.level}" for change in plan.changes)
        yield CheckFinding(
            "features-behind",
            Severity.LOW,
            "the cluster",
            f"all brokers support more than the cluster uses: {shown}",
            "what came with the new version is off.",
            "tidelog cluster upgrade, once no broker has to go back to the earlier version",
        )
