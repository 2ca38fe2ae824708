"""The topics that a regular expression picks: of a subscription, or of the ids of transactions."""

from collections.abc import Iterable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.patterns.pattern import compiled
from tidelog.base.patterns.syntax import BadPattern


def matching_topics(text: str, names: Iterable[str]) -> frozenset[str]:
    """The topics whose whole name matches, or KafkaError for what is not a regular expression of RE2."""
    try:
        return compiled(text).select(names)
    except BadPattern as cause:
        why = f"SubscribedTopicRegex `{text[:200]}` is not a valid regular expression: {cause}."
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, why) from cause
