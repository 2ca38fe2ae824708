"""Brokers that are to leave the cluster give away their votes and replicas.

The brokers are cordoned first, so that nothing new is placed on them while the moves run. The controller
unregisters a drained broker that stops; the command unregisters one that is down already.
"""

import sys
from collections.abc import Collection
from dataclasses import dataclass, replace

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
from tidelog.cli.reassign.calls import list_reassignments
from tidelog.cli.reassign.cordons import open_brokers, set_cordons
from tidelog.cli.reassign.plan import Move, moves_between
from tidelog.cli.reassign.run import How, carry_out, refuse_if_busy, wait_until_done
from tidelog.cli.session import Session

LOOKS_MAX = 5
"""How often new replicas are looked for that were placed before the cordon was known everywhere."""


@dataclass(frozen=True, slots=True)
class Drain:
    direct: DirectCluster
    leaving: Collection[int]
    how: How
    keep_vote: bool

    def run(self) -> None:
        if not self.how.dry_run:
            self._await_earlier_moves()
        view, moves = self._plan()  # refused before anything has changed
        votes = [] if self.keep_vote else self._inheritance(view)
        asks = not self.how.yes and sys.stdin.isatty()
        if self.how.dry_run or (asks and not self.direct.session.json):
            self._move(view, moves, replace(self.how, dry_run=True))
            self._say_votes(votes, planned=True)
        if self.how.dry_run:
            return
        if asks and not click.confirm(f"Drain {numbers_text(self.leaving)}?", err=True):
            raise CliError("Nothing was changed.")
        is_cordoned = self._cordon(view)
        self._hand_over(view, votes)
        for look in range(LOOKS_MAX):
            view, moves = self._plan()
            if not moves:
                self._end(view, moved=look > 0, is_cordoned=is_cordoned)
                return
            self._move(view, moves, replace(self.how, yes=True))
            if not self.how.wait:
                return
        raise CliError(
            f"{_named(self.leaving)} new replicas time and again.",
            cause="a reassignment or another tool places them there.",
            attempt="tidelog topic reassign --status",
        )

    def _await_earlier_moves(self) -> None:
        """The command may have been interrupted, and its moves go on."""
        mine = {
            place: move.adding
            for place, move in list_reassignments(self.direct).items()
            if not set(self.leaving).isdisjoint(move.removing)
        }
        if mine and self.how.wait:
            wait_until_done(self.direct, mine)

    def _plan(self) -> tuple[ClusterView, list[Move]]:
        view = look_at_cluster(self.direct)
        for id in self.leaving:
            view.broker(id)
        refuse_if_busy(self.direct, view.partitions)
        _refuse_if_last(view, self.leaving)
        current = view.assignments()
        takers = [broker for broker in open_brokers(self.direct, view) if broker.id not in self.leaving]
        return view, moves_between(current, drained(current, takers, self.leaving, view.brokers.values()))

    def _inheritance(self, view: ClusterView) -> list[Inheritance]:
        return plan_inheritance(look_at_quorum(self.direct), view, self.leaving)

    def _cordon(self, view: ClusterView) -> bool:
        """Brokers and controllers of 0.1.0 do not know the setting."""
        try:
            set_cordons(self.direct, [view.brokers[id] for id in self.leaving], cordoned=True)
        except CliError as error:
            if error.code is not Exit.REFUSED:
                raise
            note(f"New topics may still be placed on {numbers_text(self.leaving)}: {error.message}")
            return False
        return True

    def _hand_over(self, view: ClusterView, votes: list[Inheritance]) -> None:
        if votes:
            carry_out_inheritance(self.direct, look_at_quorum(self.direct), view, votes)
            self._say_votes(votes)

    def _move(self, view: ClusterView, moves: list[Move], how: How) -> None:
        if moves:
            carry_out(self.direct, view, moves, how)

    def _end(self, view: ClusterView, *, moved: bool, is_cordoned: bool) -> None:
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
            note(_advice(alive, is_cordoned=is_cordoned))
            self._name_neighbours(view, alive)

    def _name_neighbours(self, view: ClusterView, alive: Collection[int]) -> None:
        """Cores of a machine are stopped together, and these have replicas."""
        for name in dict.fromkeys(view.brokers[id].machine for id in alive):
            others = [one.id for one in view.machines.get(name or "", []) if one.id not in self.leaving]
            if others:
                note(
                    f"{numbers_text(others)} on the same machine {'is' if len(others) == 1 else 'are'} not "
                    f"drained. If all of it is to stop: tidelog cluster drain --machine {name}"
                )

    def _say_votes(self, votes: list[Inheritance], *, planned: bool = False) -> None:
        if self.direct.session.json or not votes:
            return
        done = "would vote" if planned else "votes"
        for found in votes:
            heir = "no broker" if found.heir is None else f"broker {found.heir.id}"
            print(f"In place of broker {found.voter.id}, {heir} {done} on the metadata.")
        if not planned and (advice := advice_on(len(look_at_quorum(self.direct).voters))):
            note(advice)


def _named(ids: Collection[int]) -> str:
    return f"Broker {numbers_text(ids)} holds" if len(ids) == 1 else f"Brokers {numbers_text(ids)} hold"


def _advice(alive: Collection[int], *, is_cordoned: bool) -> str:
    if is_cordoned:
        return f"Stop {numbers_text(alive)} now: the cluster forgets a drained broker that stops."
    return f"Stop {numbers_text(alive)} now, then forget each: tidelog cluster unregister BROKER"


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
