"""Names of subjects, and the contexts that they live in.

`:.staging:orders-value` is the subject `orders-value` in the context `.staging`. A name without a context
lives in the default context `.`. Each context has its own ids. `:.staging:` alone names the whole context,
which configurations and modes can belong to; `:.__GLOBAL:` stands for all contexts.
"""

from typing import NamedTuple

from tidelog.registry.errors import RegistryCode, RegistryError

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ".__GLOBAL"
GLOBAL_SCOPE = f":{GLOBAL_CONTEXT}:"
ALL_CONTEXTS = ":*:"
"""A prefix that asks for the subjects of every context."""

SUBJECT_CHARS_MAX = 2048
_RESERVED = {"__GLOBAL", "__EMPTY"}


class SubjectName(NamedTuple):
    context: str
    name: str

    def __str__(self) -> str:
        return self.name if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.name}"


def split(subject: str) -> SubjectName:
    if not subject.startswith(":."):
        return SubjectName(DEFAULT_CONTEXT, subject)
    context, _, name = subject[1:].partition(":")
    return SubjectName(context, name)


def context_of(subject: str) -> str:
    return split(subject).context


def scope_of_context(context: str) -> str | None:
    """Returns the scope that configurations and modes of a whole context have; None for the default one."""
    return None if context == DEFAULT_CONTEXT else f":{context}:"


def qualified(subject: str, parent: str) -> str:
    """Returns the subject as a schema under `parent` means it: in the parent's context, if it names none."""
    own = split(subject)
    if own.context != DEFAULT_CONTEXT:
        return str(own)
    return str(SubjectName(context_of(parent), own.name))


def in_context(subject: str, context: str) -> str:
    """Returns the subject as a request under `/contexts/{context}/` means it."""
    return qualified(subject, f":{context}:") if context != DEFAULT_CONTEXT else checked_spelling(subject)


def checked_context(context: str) -> str:
    """Returns the name of a context, which may come as `staging`, `.staging` or `:.staging:`."""
    name = context.removeprefix(":").removesuffix(":")
    name = name if name.startswith(".") else f".{name}"
    if ":" in name or not _is_plain(name):
        raise RegistryError(
            RegistryCode.INVALID_SUBJECT,
            f"The context '{context}' is not valid: it has a colon or a control character.",
        )
    return name


def checked_spelling(subject: str) -> str:
    """Returns the one spelling of a subject's name: `:.:orders` is `orders`."""
    return str(split(subject))


def checked_subject(subject: str) -> str:
    """Returns the name as it is stored. RegistryError: no schema can be registered under it."""
    name = split(subject)
    if not _is_plain(subject) or name.name in _RESERVED or name.context == GLOBAL_CONTEXT:
        raise invalid_subject(subject)
    return str(name)


def checked_scope(subject: str) -> str | None:
    """Returns what a configuration or a mode belongs to: a subject, a context, or None for everything."""
    name = split(subject)
    if not _is_plain(subject) or name.name in _RESERVED:
        raise invalid_subject(subject)
    return str(name) or None


def invalid_subject(subject: str) -> RegistryError:
    return RegistryError(
        RegistryCode.INVALID_SUBJECT,
        f"The specified subject {subject[:100]!r} is not a valid subject: a name has no control "
        "characters, at most "
        f"{SUBJECT_CHARS_MAX} characters, and is not reserved. Choose another name.",
    )


def _is_plain(name: str) -> bool:
    return len(name) <= SUBJECT_CHARS_MAX and not any(
        char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in name
    )
