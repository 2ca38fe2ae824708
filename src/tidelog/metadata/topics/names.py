"""Topic names: which are legal, which are ours, and which cannot live side by side.

Metric names turn '.' into '_', so `a.b` and `a_b` would share their metrics: one of them is refused.
"""

import re
from collections.abc import Iterable

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
CLUSTER_METADATA = "__cluster_metadata"
SCHEMAS = "_schemas"
"""Of the schema registry. A topic like any other on brokers that do not serve the registry."""

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})
"""Topics that clients may read but that the brokers write."""

NAME_LENGTH_MAX = 249  # with '-', a partition number and a suffix it still is a file name

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def why_illegal(name: str) -> str | None:
    """The reason in Kafka's words, or None for a legal name."""
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > NAME_LENGTH_MAX:
        reason = f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    elif not _LEGAL.fullmatch(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {reason}"


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS or name == CLUSTER_METADATA


def metric_form(name: str) -> str:
    """What two colliding names have in common."""
    return name.replace(".", "_")


class NameCollisions:
    """Finds the existing topic that a new name collides with. The index is built on the first question."""

    def __init__(self, existing: Iterable[str]) -> None:
        self._existing = existing
        self._added: list[str] = []
        self._by_form: dict[str, str] | None = None

    def find(self, name: str) -> str | None:
        if "." not in name and "_" not in name:
            return None
        if self._by_form is None:
            self._by_form = {metric_form(taken): taken for taken in (*self._existing, *self._added)}
        other = self._by_form.get(metric_form(name))
        return None if other == name else other

    def add(self, name: str) -> None:
        if self._by_form is None:
            self._added.append(name)
        else:
            self._by_form.setdefault(metric_form(name), name)
