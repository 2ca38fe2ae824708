"""Writes the table in docs/authorization.md from `broker/security/operations.py`; `--check` only compares.

python -m tools.authorization_reference
"""

import sys
from pathlib import Path

from tidelog.broker.security.operations import OPERATIONS, Effect, Question
from tidelog.security.acls.vocabulary import ResourceType
from tidelog.wire.apis import API
from tools.pages import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "authorization.md"

BEGIN = (
    "<!-- Written by tools/authorization_reference.py from broker/security/operations.py; change that. -->\n"
)
END = "<!-- The end of the table. -->\n"


def page() -> str:
    """The page with the table as it must be; the rest stays as it is written."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + table() + "\n" + END + after


def table() -> str:
    rows = ["| API | asks for | on | about | without it |", "|---|---|---|---|---|"]
    for key, questions in OPERATIONS.items():
        name = API[key].name
        if not questions:
            rows.append(f"| {name} | nothing | | | |")
        for number, question in enumerate(questions):
            rows.append(f"| {'' if number else name} | {' | '.join(_cells(question))} |")
    return "\n".join(rows) + "\n"


def _cells(question: Question) -> list[str]:
    effect = f"`{question.refused_with.name}`" if question.effect is Effect.REFUSES else question.effect.value
    return [question.operation.name, _resource(question.resource_type), question.when, effect]


def _resource(kind: ResourceType) -> str:
    return f"the {kind.name.lower().replace('_', ' ')}"


if __name__ == "__main__":
    sys.exit(run({PAGE: page}, sys.argv[1:]))
