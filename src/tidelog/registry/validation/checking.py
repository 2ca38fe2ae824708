"""Whether the records of a batch name schemas that their topic takes: a pure decision on what is known.

What is known is the schemas that pass. A refusal is never remembered: the schema may be registered a moment
later, and then its records are to pass.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tidelog.registry.validation.naming import NO_NAME, SchemaName, Side, names_in, shown
from tidelog.registry.validation.questions import NAMES_MAX, Question, Rule, Verdicts
from tidelog.storage.schema_checks import SchemaChecks
from tidelog.wire.fronts import Fronts


class Checked(NamedTuple):
    questions: tuple[Question, ...]
    """To be answered before there is a decision; then there are no problems yet."""
    problems: Mapping[int, str]
    """By the number of a record in its batch. Empty: all records pass, if there is no question."""


def check(
    fronts: Fronts,
    topic: str,
    checks: SchemaChecks,
    passes: Callable[[Rule, SchemaName], bool],
    answers: Mapping[Rule, Verdicts] | None = None,
) -> Checked:
    """`answers`: to the questions of an earlier check of the same records."""
    questions: list[Question] = []
    problems: dict[int, str] = {}
    for side, strategy in ((Side.KEY, checks.key), (Side.VALUE, checks.value)):
        if strategy is None:
            continue
        rule = Rule(topic, side, strategy)
        names = names_in(fronts, side)
        verdicts: dict[object, str | None] = {NO_NAME: _without_name(side), None: None}
        verdicts.update((answers or {}).get(rule, {}).items())
        unknown = [name for name in set(names) if name not in verdicts and not passes(rule, name)]  # type: ignore[arg-type]
        if len(unknown) > NAMES_MAX:
            verdicts |= dict.fromkeys(unknown, _too_many(side))
        elif unknown:
            questions.append(Question(rule, tuple(unknown)))  # type: ignore[arg-type]
        if any(verdicts.get(name) is not None for name in set(names)):
            for number, name in enumerate(names):
                why = verdicts.get(name)
                if why is not None:
                    problems.setdefault(number, why)
    return Checked(tuple(questions), {} if questions else dict(sorted(problems.items())))


def _without_name(side: Side) -> str:
    return (
        f"the {side.value} names no schema: it begins with neither an id nor a GUID, and the record has no "
        f"header {side.header}; use a serializer of the schema registry"
    )


def _too_many(side: Side) -> str:
    return f"the {side.value}s of the batch name more than {NAMES_MAX} schemas that are not known here"


def refusal(rule: Rule, name: SchemaName, subjects: Sequence[str], *, is_known: bool) -> str:
    """Why a schema will not do, for the producer."""
    if not is_known:
        return f"{shown(name)} of the {rule.side.value} is not registered: register the schema first"
    wanted = " or ".join(subjects[:3]) or "the name of its record, which it has none of"
    return f"{shown(name)} of the {rule.side.value} is registered, but not under the subject {wanted}"
