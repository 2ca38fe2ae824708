"""`tidelog cluster drain`: brokers that are to leave the cluster give away their votes and replicas.

The brokers are cordoned first, so that nothing new is placed on them while the moves run. The controller
unregisters a drained broker that stops; the command unregisters one that is down already.
"""

from collections.abc import Collection
from dataclasses import dataclass

import click

from tidelog.cli.cluster.quorum import look_at_quorum
from tidelog.cli.cluster.view import ClusterView, look_at_cluster, numbers_text
from tidelog.cli.cluster.vote_changes import (
    Inheritance,
    advice_on,
    carry_out_inheritance,
    plan_inheritance,
)
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import note, print_json
from tidelog.cli.partition_choice import places_text
from tidelog.cli.reassign.balance import request_unregistration
from tidelog.cli.reassign.balance_plans import drained
from tidelog.cli.reassign.cordons import open_brokers, set_cordons
from tidelog.cli.reassign.plan import Move, moves_between
from tidelog.cli.reassign.run import How, carry_out, how_options, refuse_if_busy
from tidelog.cli.session import Session, broker_options, pass_session

LOOKS_MAX = 5
"""How often new replicas are looked for that were placed before the cordon was known everywhere."""


@click.command()
@click.argument("brokers", type=click.IntRange(min=0), nargs=-1, required=True, metavar="BROKER…")
@click.option("--keep-vote", is_flag=True, help="Move replicas only; votes on the metadata stay.")
@click.option("--cancel", is_flag=True, help="Let the brokers take new replicas again; nothing moves back.")
@how_options
@broker_options
@pass_session
def drain(
    session: Session,
    brokers: tuple[int, ...],
    keep_vote: bool,
    cancel: bool,
    dry_run: bool,
    throttle: int | None,
    no_wait: bool,
    yes: bool,
) -> None:
    """Move all replicas away from brokers that are to leave the cluster.

    New topics are not placed on them any more (cordoned.log.dirs). A vote on the metadata goes to a broker
    that has none, or is given up. The other brokers take the replicas, as evenly as racks allow. A drained
    broker is forgotten when it stops; one that is down already, at once. Run the command again if it was
    interrupted.

    \b
    tidelog cluster drain 3 4 --throttle 50MiB
    tidelog cluster drain 3 4 --cancel
    """
    direct = DirectCluster(session)
    leaving = tuple(dict.fromkeys(brokers))
    how = How(dry_run, throttle, not no_wait, yes)
    if cancel:
        view = look_at_cluster(direct, [])
        set_cordons(direct, [view.broker(id) for id in leaving], cordoned=False)
        _say(session, f"New replicas may be placed on {numbers_text(leaving)} again.")
        return
    _Drain(direct, leaving, how, keep_vote=keep_vote).run()


@dataclass(frozen=True, slots=True)
class _Drain:
    direct: DirectCluster
    leaving: Collection[int]
    how: How
    keep_vote: bool

    def run(self) -> None:
        view, moves = self._plan()  # refused before anything has changed
        votes = [] if self.keep_vote else self._inheritance(view)
        if self.how.dry_run:
            self._move(view, moves)
            self._say_votes(votes)
            return
        self._cordon(view)
        self._hand_over(view, votes)
        moved = False
        for _ in range(LOOKS_MAX):
            view, moves = self._plan()
            if not moves:
                break
            self._move(view, moves)
            moved = True
            if not self.how.wait:
                return
        self._end(view, moved=moved)

    def _plan(self) -> tuple[ClusterView, list[Move]]:
        view = look_at_cluster(self.direct)
        for id in self.leaving:
            view.broker(id)
        refuse_if_busy(self.direct, view.partitions)
        _refuse_if_last(view, self.leaving)
        current = view.assignments()
        takers = [broker for broker in open_brokers(self.direct, view) if broker.id not in self.leaving]
        return view, moves_between(current, drained(current, takers, self.leaving))

    def _inheritance(self, view: ClusterView) -> list[Inheritance]:
        return plan_inheritance(look_at_quorum(self.direct), view, self.leaving)

    def _cordon(self, view: ClusterView) -> None:
        try:
            set_cordons(self.direct, [view.brokers[id] for id in self.leaving], cordoned=True)
        except CliError as error:
            if error.code is not Exit.REFUSED:
                raise
            note(f"New topics may still be placed on {numbers_text(self.leaving)}: {error.message}")

    def _hand_over(self, view: ClusterView, votes: list[Inheritance]) -> None:
        if votes:
            carry_out_inheritance(self.direct, look_at_quorum(self.direct), view, votes)
            self._say_votes(votes)

    def _move(self, view: ClusterView, moves: list[Move]) -> None:
        if moves:
            carry_out(self.direct, view, moves, self.how)

    def _end(self, view: ClusterView, *, moved: bool) -> None:
        gone = [id for id in self.leaving if view.brokers[id].fenced]
        if not self.keep_vote:
            for id in gone:
                request_unregistration(self.direct, id)
        session = self.direct.session
        if session.json:
            if not moved:
                _say(session, f"{_named(self.leaving)} no replicas.")
            return
        _say(session, f"{_named(self.leaving)} no replicas{' any more' if moved else ''}.")
        if self.keep_vote:
            return
        if gone:
            _say(session, f"Forgotten, since not alive: {numbers_text(gone)}.")
        if alive := [id for id in self.leaving if id not in gone]:
            note(f"Stop {numbers_text(alive)} now: the cluster forgets a drained broker that stops.")

    def _say_votes(self, votes: list[Inheritance]) -> None:
        if self.direct.session.json or not votes:
            return
        done = "would vote" if self.how.dry_run else "votes"
        for found in votes:
            heir = "no broker" if found.heir is None else f"broker {found.heir.id}"
            print(f"In place of broker {found.voter.id}, {heir} {done} on the metadata.")
        if not self.how.dry_run and (advice := advice_on(len(look_at_quorum(self.direct).voters))):
            note(advice)


def _named(ids: Collection[int]) -> str:
    return f"Broker {numbers_text(ids)} holds" if len(ids) == 1 else f"Brokers {numbers_text(ids)} hold"


def _refuse_if_last(view: ClusterView, leaving: Collection[int]) -> None:
    """Replicas cannot be copied from brokers that are down."""
    down = {id for id in leaving if view.brokers[id].fenced}
    lost = [
        place
        for place, part in view.partitions.items()
        if not down.isdisjoint(part.replicas) and set(part.in_sync) <= down
    ]
    if lost:
        which = f"broker {numbers_text(down)}" if len(down) == 1 else f"brokers {numbers_text(down)}"
        raise CliError(
            f"Only {which}, not alive, has all records of {places_text(lost)}.",
            attempt=f"start {which} first; if lost for good, delete these topics, or elect "
            "what is left: tidelog cluster elect-leaders --unclean TOPIC",
            code=Exit.REFUSED,
        )


def _say(session: Session, text: str) -> None:
    if session.json:
        print_json({"message": text})
    else:
        print(text)
