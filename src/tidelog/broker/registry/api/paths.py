"""Paths of the API: templates with parameters, and the context that may stand before any other path.

A path is split before it is decoded, since a subject may hold a slash. Subjects below `/contexts/{context}/`
belong to that context.
"""

from typing import NamedTuple
from urllib.parse import quote, unquote

from tidelog.registry import subjects
from tidelog.registry.errors import RegistryCode, RegistryError

CHARS_MAX = 16 * 1024
PARTS_MAX = 16
_BEFORE_A_SUBJECT = (["subjects"], ["compatibility", "subjects"], ["config"], ["mode"])


class Located(NamedTuple):
    """The parts of a path, still encoded, without the context that stood before them."""

    parts: tuple[str, ...]
    context: str | None = None
    """As subjects begin with it, `:.name:`; "" for the default context; None where the path names none."""


class Template:
    """A path with its parameters in braces."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = tuple(split(text))

    def match(self, parts: tuple[str, ...]) -> dict[str, str] | None:
        """Returns the parameters, decoded; None for a path of another shape."""
        if len(parts) != len(self.parts):
            return None
        found = {}
        for part, expected in zip(parts, self.parts, strict=True):
            if expected[:1] == "{":
                found[expected[1:-1]] = decoded(part)
            elif part != expected:
                return None
        return found


def split(path: str) -> list[str]:
    inside = path.removeprefix("/").removesuffix("/")
    return inside.split("/") if inside else []


def locate(path: str) -> Located:
    """Take the context off a path, and put it before the subject. Raises RegistryError."""
    parts = split(path) if len(path) <= CHARS_MAX else []
    if len(path) > CHARS_MAX or len(parts) > PARTS_MAX:
        raise RegistryError(RegistryCode.NOT_FOUND, "HTTP 404 Not Found: no path of this API is that long.")
    if len(parts) < 3 or parts[0] != "contexts":  # `/contexts/{context}` is a resource itself
        return Located(tuple(parts))
    context, parts = prefix_of(decoded(parts[1])), parts[2:]
    at = next((len(before) for before in _BEFORE_A_SUBJECT if parts[: len(before)] == before), 0)
    if 0 < at < len(parts):
        if not is_qualified(decoded(parts[at])):
            parts[at] = quote(context, safe="") + parts[at]
    elif parts in (["config"], ["mode"]) and context:
        parts.append(quote(context, safe=""))
    return Located(tuple(parts), context)


def prefix_of(context: str) -> str:
    """Returns how subjects of a context begin; "" for the default context. Raises RegistryError."""
    return subjects.scope_of_context(subjects.checked_context(context)) or ""


def is_qualified(subject: str) -> bool:
    return subject.startswith((":.", ":*:"))


def decoded(part: str) -> str:
    """A plus stays a plus: it stands for a space in a query alone. Bytes that are no UTF-8 are refused."""
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise RegistryError(
            RegistryCode.BAD_REQUEST,
            "HTTP 400 Bad Request: the path is not UTF-8 in percent-encoding.",
        ) from None
