"""Which open transactions hang: what partitions hold open, against what coordinators know. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tidelog.cli.transactions.calls import Described
from tidelog.cli.transactions.producer_states import ProducerState


class Why(Enum):
    UNKNOWN = "no coordinator knows its producer"
    LEFT_OUT = "its coordinator does not count this partition to a transaction"
    OVERDUE = "it is open far beyond its timeout"


@dataclass(frozen=True, slots=True)
class Suspect:
    state: ProducerState
    why: Why
    transaction: Described | None

    @property
    def needs_marker(self) -> bool:
        """It will not end by itself. An overdue one has a coordinator, which must end it everywhere."""
        return self.why is not Why.OVERDUE

    def as_json(self) -> dict[str, Any]:
        known = self.transaction
        return {
            **self.state.as_json(),
            "transactional_id": None if known is None else known.transactional_id,
            "why": self.why.name.lower(),
        }


def suspects(
    before: Iterable[ProducerState],
    known: Mapping[int, Described],
    after: Iterable[ProducerState],
    *,
    now_ms: int,
    grace_ms: int,
) -> list[Suspect]:
    """`known` was asked for between `before` and `after`, by producer id.

    A transaction that ended or began meanwhile is in one of the two only: it goes on as it should.
    """
    still_open = {_identity(state) for state in after if state.open_since is not None}
    found = []
    for state in before:
        if state.open_since is None or _identity(state) not in still_open:
            continue
        why = verdict(state, known.get(state.producer_id), now_ms, grace_ms)
        if why is not None:
            found.append(Suspect(state, why, known.get(state.producer_id)))
    return found


def verdict(state: ProducerState, known: Described | None, now_ms: int, grace_ms: int) -> Why | None:
    """None where all is well."""
    if known is None:
        return Why.UNKNOWN
    if state.place not in known.places:
        return Why.LEFT_OUT
    open_for = known.open_for_ms(now_ms)
    return Why.OVERDUE if open_for is not None and open_for > known.timeout_ms + grace_ms else None


def _identity(state: ProducerState) -> tuple[Any, ...]:
    return state.place, state.producer_id, state.open_since
