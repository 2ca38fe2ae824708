"""`tidelog cluster can-stop`: whether a broker may be stopped now, for people, scripts and pre-stop hooks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import click

from tidelog.base.errors import ErrorCode
from tidelog.cli.cluster.view import look_at_brokers, numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.metadata.brokers.stopping import StopObstacle, StopRule

LOOK_S = 0.5
SHOWN_MAX = 10


@dataclass(frozen=True, slots=True)
class StopCheck:
    """What the controller answered."""

    broker: int
    voters: Sequence[int]
    following: Sequence[int]
    obstacles: Sequence[StopObstacle]
    total: int
    tolerates_unavoidable: bool = False
    neighbours: Sequence[int] = ()
    """The other brokers of its machine, which stop with it."""

    @property
    def named(self) -> str:
        others = f" with {numbers_text(self.neighbours)} of the same machine" if self.neighbours else ""
        return f"Broker {self.broker}{others}"

    @property
    def in_the_way(self) -> list[StopObstacle]:
        return [one for one in self.obstacles if not (self.tolerates_unavoidable and one.unavoidable)]

    @property
    def allowed(self) -> bool:
        return not self.in_the_way

    @property
    def waiting_helps(self) -> bool:
        return any(not one.unavoidable for one in self.in_the_way)

    def lines(self) -> list[str]:
        by_rule = sorted(self.obstacles, key=lambda one: (one.rule, one.unavoidable))
        found = []
        for (rule, unavoidable), group in groupby(by_rule, key=lambda one: (one.rule, one.unavoidable)):
            found.append(_reason(rule, list(group), self, unavoidable=unavoidable))
        if self.total > len(self.obstacles):
            found.append(f"{self.total - len(self.obstacles)} more partitions are not shown.")
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "broker": self.broker,
            "neighbours": list(self.neighbours),
            "can_stop": self.allowed,
            "reasons": self.lines(),
            "waiting_helps": self.waiting_helps,
            "voters": list(self.voters),
            "voters_following": list(self.following),
            "obstacles": [
                {
                    "rule": one.rule.name.lower(),
                    "topic": one.topic,
                    "partition": one.partition if one.topic is not None else None,
                    "have": one.have,
                    "needed": one.needed,
                    "unavoidable": one.unavoidable,
                }
                for one in self.obstacles
            ],
        }


def _reason(rule: StopRule, found: list[StopObstacle], check: StopCheck, *, unavoidable: bool) -> str:
    if rule is StopRule.KEEPS_QUORUM:
        [one] = found
        away = sorted(set(check.voters) - set(check.following))
        said = (
            f"The quorum would lose its majority: {one.have} of {len(check.voters)} voters would remain, and "
            f"{one.needed} must agree"
        )
        if away:
            return f"{said}; voter {numbers_text(away)} is away or behind."
        return f"{said}; more voters would help: tidelog cluster add-voter."
    places, here = _places(found), "this machine" if check.neighbours else "this broker"
    if rule is StopRule.KEEPS_LEADER:
        if unavoidable and all(one.needed <= 1 for one in found):
            return f"{places} would have no leader: {here} holds the only replica."
        return f"{places} would have no leader: no other replica is in sync."
    if rule is StopRule.CATCHES_UP:
        return f"{places} refuses acks=all already, and waits for the replica on {here} to catch up."
    said = f"{places} would have fewer in-sync replicas than min.insync.replicas"
    return f"{said}, and has no more replicas than that." if unavoidable else f"{said}."


def _places(found: Sequence[StopObstacle]) -> str:
    in_order = sorted(found, key=lambda one: (one.topic or "", one.partition))
    shown = ", ".join(f"{one.topic}:{one.partition}" for one in in_order[:SHOWN_MAX])
    more = f" and {len(found) - SHOWN_MAX} more" if len(found) > SHOWN_MAX else ""
    return f"{len(found)} partition{'s' if len(found) != 1 else ''} ({shown}{more})"


@click.command("can-stop")
@click.argument("broker", type=click.IntRange(min=0), envvar="TIDELOG_NODE_ID")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Wait up to this long until it may be stopped, as long as waiting can help.",
)
@click.option(
    "--tolerate-unavoidable",
    is_flag=True,
    help="Pass over what no waiting changes: partitions with a single replica, or with no more replicas than "
    "min.insync.replicas, and a quorum of one or two voters.",
)
@broker_options
@pass_session
def can_stop(session: Session, broker: int, wait_s: float, tolerate_unavoidable: bool) -> int:
    """Say whether a broker may be stopped now: exit code 0 if so, 1 with the reasons if not.

    A broker may be stopped while every partition keeps a leader and min.insync.replicas in-sync replicas, and
    the quorum a majority of its voters. The answer holds for one broker at a time, together with the others
    of its machine (broker.machine), since they stop with it. Kubernetes' pre-stop hook
    and rolling restarts wait for it with --wait. Without BROKER it is the one of TIDELOG_NODE_ID, as in the
    container of a broker.
    """
    direct = DirectCluster(session)
    check = wait_for_stop(lambda: ask_for_machine(direct, broker, tolerate_unavoidable), wait_s)
    if session.json:
        print_json(check.as_json())
    else:
        show_check(check)
    return Exit.OK if check.allowed else Exit.FAILED


def show_check(check: StopCheck) -> None:
    if check.allowed:
        print(f"{check.named} may be stopped.")
    else:
        print(f"{check.named} must not be stopped now.")
    for line in check.lines():
        print(f"  {line}")
    if not check.allowed and not check.waiting_helps:
        print("  No waiting changes that. To stop it nevertheless: --tolerate-unavoidable")


def wait_for_stop(
    ask: Callable[[], StopCheck],
    wait_s: float,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> StopCheck:
    """Asks until the broker may be stopped, waiting cannot help, or time is up; also a cluster that does not
    answer yet."""
    deadline = now() + wait_s
    while True:
        try:
            check = ask()
        except CliError as error:
            if error.code not in (Exit.UNREACHABLE, Exit.TIMED_OUT) or now() >= deadline:
                raise
        else:
            if check.allowed or not check.waiting_helps or now() >= deadline:
                return check
        sleep(LOOK_S)


def ask_for_machine(direct: DirectCluster, broker: int, tolerate_unavoidable: bool) -> StopCheck:
    """No partition has two replicas on a machine: what holds for each broker there holds for all at once."""
    check = ask_can_stop(direct, broker, tolerate_unavoidable)
    neighbours = look_at_brokers(direct).neighbours(broker)
    return together(check, [ask_can_stop(direct, id, tolerate_unavoidable) for id in neighbours])


def together(check: StopCheck, others: Sequence[StopCheck]) -> StopCheck:
    checks = (check, *others)
    found = dict.fromkeys(one for each in checks for one in each.obstacles)
    return replace(
        check,
        obstacles=tuple(found),
        total=sum(each.total for each in checks) - sum(len(each.obstacles) for each in checks) + len(found),
        neighbours=tuple(each.broker for each in others),
    )


def ask_can_stop(direct: DirectCluster, broker: int, tolerate_unavoidable: bool = False) -> StopCheck:
    from tidelog.wire.messages.can_stop_broker import CanStopBrokerRequest

    answer = direct.ask(CanStopBrokerRequest(broker_id=broker))
    if answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED:
        raise CliError(
            f"There is no broker {broker} in this cluster.",
            attempt="tidelog cluster brokers",
            code=Exit.NOT_FOUND,
        )
    if answer.error_code:
        raise refusal(
            answer.error_code,
            answer.error_message,
            f"Whether broker {broker} may be stopped is unknown",
            attempt="tidelog cluster status",
        )
    obstacles = [
        StopObstacle(StopRule(one.rule), one.have, one.needed, one.topic, one.partition, one.unavoidable)
        for one in answer.obstacles
    ]
    return StopCheck(
        broker, answer.voters, answer.following, obstacles, answer.obstacles_total, tolerate_unavoidable
    )
