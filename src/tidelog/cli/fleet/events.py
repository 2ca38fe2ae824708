"""What happens to brokers and machines of a cluster as events: JSON for machines, sentences for people.

An event of a broker has its id under "broker"; one of a machine, whose cores are brokers, its name under
"machine".
"""

import signal
from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.cli.fleet.plan import MemberPlan

Event = Mapping[str, Any]


def ended(member: MemberPlan, code: int, last_lines: Sequence[str], wait_s: float | None) -> Event:
    return _of(member, "ended", exit_code=code, last_lines=list(last_lines), restart_in_s=wait_s)


def not_started(member: MemberPlan, reason: str, wait_s: float) -> Event:
    return _of(member, "not_started", reason=reason, restart_in_s=wait_s)


def restarted(member: MemberPlan, pid: int | None) -> Event:
    return _of(member, "restarted", pid=pid)


def killed(member: MemberPlan, seconds: float) -> Event:
    return _of(member, "killed", after_s=round(seconds, 3))


def hangs(member: MemberPlan, seconds: float) -> Event:
    return _of(member, "hangs", seconds=seconds)


def _of(member: MemberPlan, what: str, **facts: Any) -> Event:
    kind = "broker" if member.cores == 1 else "machine"
    return {"event": f"{kind}_{what}", kind: member.id if member.cores == 1 else str(member.id), **facts}


def event_lines(event: Event) -> list[str]:
    kind, _, what = event["event"].partition("_")
    name = f"{kind.capitalize()} {event.get(kind)}"
    match what:
        case "ended":
            return _end_lines(name, event["exit_code"], event["last_lines"], event["restart_in_s"])
        case "not_started":
            reason, wait_s = event["reason"], event["restart_in_s"]
            return [f"{name} is not running: {reason}. The next try is in {wait_s:g} s."]
        case "restarted":
            return [f"{name} answers again (process {event['pid']})."]
        case "killed":
            return [f"{name} did not stop within {event['after_s']:.0f} s and was killed."]
        case "hangs":
            return [f"{name} has done nothing for {event['seconds']:.0f} s and is killed."]
    return [event["message"]] if "message" in event else []


def _end_lines(name: str, code: int, last_lines: Sequence[str], wait_s: float | None) -> list[str]:
    restarts = "" if wait_s is None else f"It restarts in {wait_s:g} s; "
    after = f"{restarts}{'t' if restarts else 'T'}he others keep running."
    if code == 0:  # a rolling restart by hand: it was told to stop, and nothing is wrong
        return [f"{name} was stopped from outside. {after}"]
    lines = [f"{name} exited unexpectedly ({exit_text(code)}). {after}"]
    return [*lines, "Its last lines:", *(f"    {line}" for line in last_lines)] if last_lines else lines


def exit_text(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
