"""Questions of a partition's leader to the registry: are these schemas registered under the right subject?

A question and its answer travel between brokers as JSON.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from tidelog.registry.validation.naming import SchemaName, Side
from tidelog.storage.schema_checks import SubjectStrategy

NAMES_MAX = 100
"""Schemas of one question. A batch that names more which are not known is refused."""


class Rule(NamedTuple):
    """Which subject the schemas of a topic's records belong to."""

    topic: str
    side: Side
    strategy: SubjectStrategy

    def subjects(self, record_names: Iterable[str]) -> list[str]:
        """Returns the subjects that will do. A file of Protobuf has a name for each of its messages."""
        match self.strategy:
            case SubjectStrategy.TOPIC:
                return [f"{self.topic}-{self.side.value}"]
            case SubjectStrategy.RECORD:
                return list(record_names)
            case SubjectStrategy.TOPIC_RECORD:
                return [f"{self.topic}-{name}" for name in record_names]

    @property
    def needs_record_names(self) -> bool:
        return self.strategy is not SubjectStrategy.TOPIC


class Question(NamedTuple):
    rule: Rule
    names: tuple[SchemaName, ...]


Verdicts: TypeAlias = Mapping[SchemaName, str | None]
"""Why a schema will not do; None: it does."""


def to_json(question: Question) -> dict[str, Any]:
    return {
        "topic": question.rule.topic,
        "side": question.rule.side.value,
        "strategy": question.rule.strategy.value,
        "schemas": [name if isinstance(name, int) else name.hex() for name in question.names],
    }


def from_json(fields: Mapping[str, Any]) -> Question:
    rule = Rule(fields["topic"], Side(fields["side"]), SubjectStrategy(fields["strategy"]))
    names = (name if isinstance(name, int) else bytes.fromhex(name) for name in fields["schemas"])
    return Question(rule, tuple(names))
