"""A plan as a person reads it."""

from tidelog.cli.output import print_table, say
from tidelog.cli.plan.model import TAIL_SECONDS, Plan
from tidelog.cli.plan.needs import FULL_MAX


def show(found: Plan) -> None:
    load, written = found.load, found.written_per_second
    say(
        f"[bold]{_machines(found)}[/], {_count(found.partitions, 'partition')} with "
        f"{_count(load.replication, 'replica')} each; {_because(found)}."
    )
    each = "broker" if load.cores == 1 else "machine"
    traffic = f"{_size(found.network_in)}/s in, {_size(found.network_out)}/s out"
    print_table(
        ("", ""),
        [
            ("producers send", f"{_size(written)}/s, {_size(written * load.peak)}/s at the peak"),
            ("all replicas hold", f"{_size(found.stored_bytes)} at the end of the retention"),
            (f"disk of a {each}", f"{_size(found.disk_bytes)}, then {FULL_MAX:.0%} full"),
            (f"network of a {each}", f"{traffic}, at the peak with one {each} away"),
            (f"memory of a {each}", f"{_size(found.memory_bytes)}; keeps the newest {TAIL_SECONDS} s cached"),
            ("replicas on a broker", found.replicas_per_broker),
        ],
    )
    print_table(
        ("resource", f">{each}s", "why"),
        [(need.resource, f"{need.machines:.2f}", need.detail) for need in found.needs],
    )
    for note in found.notes:
        say(f"[yellow]Note:[/] {note}.")
    say("Settings:")
    for name, value in settings_of(found).items():
        print(f"  {name}={value}")


def settings_of(found: Plan) -> dict[str, object]:
    """What this plan takes for granted, as settings of the brokers."""
    load = found.load
    cores: dict[str, object] = {"broker.cores": load.cores} if load.cores > 1 else {}
    return {
        **cores,
        "default.replication.factor": load.replication,
        "min.insync.replicas": max(1, load.replication - 1),
        "num.partitions": found.partitions,
        "log.retention.ms": int(load.retention_s * 1000),
        "durability": load.durability,
    }


def _machines(found: Plan) -> str:
    if found.load.cores == 1:
        return _count(found.brokers, "broker")
    return (
        f"{_count(found.machines, 'machine')} of {found.load.cores} cores ({_count(found.brokers, 'broker')})"
    )


def _because(found: Plan) -> str:
    each = "broker" if found.load.cores == 1 else "machine"
    if found.limit == "replication":
        return f"as many {each}s as replicas, which is enough"
    spare = max(need.spare for need in found.needs if need.resource == found.limit)
    return f"the limit is {found.limit}" + (f", with one {each} to spare" if spare else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _size(count: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count:,.0f} B"
