"""Which topics may take the dead letters of share groups (KIP-1191), by name and by their own setting.

The broker writes dead letters, and it may write to every topic. A group that could name any topic would write
where its members may not, so the name needs a prefix, and the topic must allow it.
"""

from tidelog.metadata.topics.names import is_internal, why_illegal

TOPIC_NAME = "errors.deadletterqueue.topic.name"
NAME_PREFIX = "errors.deadletterqueue.topic.name.prefix"
GROUP_ENABLE = "errors.deadletterqueue.group.enable"
RESERVED = "__"


def why_no_dead_letter_name(name: str, prefix: str) -> str | None:
    """Returns why a group cannot have its dead letters written to a topic of this name; None if it can."""
    if name.startswith(RESERVED):
        return f"A dead-letter topic cannot start with {RESERVED}, which is for internal topics: '{name}'."
    if reason := why_illegal(name):
        return f"{reason}."
    if not name.startswith(prefix):
        return (
            f"The names of dead-letter topics start with '{prefix}' in this cluster ({NAME_PREFIX}), and "
            f"'{name}' does not."
        )
    return None


def why_no_dead_letters_in(name: str) -> str | None:
    """Returns why a topic cannot allow groups to use it as their dead-letter topic; None if it can."""
    if is_internal(name) or name.startswith(RESERVED):
        return f"{GROUP_ENABLE} cannot be true for the internal topic '{name}'."
    return None
