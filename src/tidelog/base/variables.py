"""`${env:NAME}`, `${file:PATH}` and `${host:name}` in values that people write: secrets and addresses stay
elsewhere, and machines or containers that differ by their names alone share one text.

The settings of brokers, pipelines, and the command line's contexts share this. `${env:NAME:-VALUE}` has a
default, `${file:PATH:KEY}` takes one value of a properties file as Kafka's FileConfigProvider does, and `$${`
stands for `${` itself. `${host:ordinal}` is the number at the end of the host name: 2 on `tidelog-2`, as a
StatefulSet names its third pod. A resolved value is not looked at again. Errors name the variable, never its
value.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

FILE_BYTES_MAX = 1 << 20
_VARIABLE = re.compile(r"\$?\$\{(?P<inside>[^}]*)\}")
# The hyphen is required: the name of a container is often a random number.
_ORDINAL = re.compile(r"-([0-9]{1,9})\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Unresolved(ValueError):
    """A variable that has no value; the message says what to write or to set."""


class VariableSources(NamedTuple):
    """Where values come from."""

    environment: Mapping[str, str]
    read: Callable[[str], bytes]
    """Returns the start of a file, one byte more than FILE_BYTES_MAX at most. Raises OSError."""
    place: Callable[[str], str] = str
    """A file as errors name it."""
    host_name: Callable[[], str] = lambda: os.uname().nodename


def machine_sources(
    directory: str | os.PathLike[str] = "", environment: Mapping[str, str] | None = None
) -> VariableSources:
    """The environment of this process, and files relative to a directory."""

    def place(name: str) -> str:
        return os.path.join(directory, name)

    def read(name: str) -> bytes:
        with open(place(name), "rb") as file:
            return file.read(FILE_BYTES_MAX + 1)

    return VariableSources(os.environ if environment is None else environment, read, place)


def has_variables(text: str) -> bool:
    return "${" in text


def resolve(text: str, sources: VariableSources) -> str:
    """The text with every variable replaced. Raises Unresolved for the first that has no value."""
    if not has_variables(text):
        return text
    return _VARIABLE.sub(lambda found: _value(found[0], found["inside"], sources), text)


def with_absolute_files(text: str, sources: VariableSources) -> str:
    """The same variables for a reader elsewhere: paths become absolute, values stay where they are."""

    def rewritten(found: "re.Match[str]") -> str:
        kind, _, rest = found["inside"].partition(":")
        if found[0].startswith("$$") or kind != "file":
            return found[0]
        path, key = _path_and_key(rest)
        place = os.path.abspath(sources.place(path))
        return f"${{file:{place}}}" if key is None else f"${{file:{place}:{key}}}"

    return _VARIABLE.sub(rewritten, text)


def without_values(message: str, resolved: Mapping[str, str]) -> str:
    """The message with variables in the place of the values that they gave: `resolved` maps each of these to
    what was written."""
    for value in sorted(filter(None, resolved), key=len, reverse=True):
        # Where a value begins or ends as a word, it is replaced as a whole word only: 1 is not a part of 10.
        begin, end = (r"(?<!\w)" if value[0].isalnum() else ""), (r"(?!\w)" if value[-1].isalnum() else "")
        written = resolved[value].replace("\\", r"\\")  # a template of re.sub
        message = re.sub(begin + re.escape(value) + end, written, message)
    return message


def _value(whole: str, inside: str, sources: VariableSources) -> str:
    if whole.startswith("$$"):
        return whole[1:]
    kind, colon, rest = inside.partition(":")
    if not colon:
        kind, rest = "env", inside
    if kind == "file" and rest:
        return _of_file(rest, sources)
    if kind == "host" and colon:
        return _of_host(whole, rest, sources)
    name, has_default, default = rest.partition(":-")
    if kind != "env" or not _NAME.match(name):
        raise Unresolved(
            f"'{whole}' is neither ${{env:NAME}} nor ${{file:PATH}} nor ${{host:name}}; write '$${{' where "
            "'${' is meant"
        )
    if name in sources.environment:
        return sources.environment[name]
    if has_default:
        return default
    raise Unresolved(
        f"the environment variable {name} is not set; set it, or give it a default: ${{env:{name}:-VALUE}}"
    )


def _of_host(whole: str, part: str, sources: VariableSources) -> str:
    # Kubernetes gives the short name, others the name with its domain.
    name = sources.host_name().partition(".")[0]
    if part == "name":
        return name
    if part != "ordinal":
        raise Unresolved(f"'{whole}' is neither ${{host:name}} nor ${{host:ordinal}}")
    ordinal = _ORDINAL.search(name)
    if ordinal is None:
        raise Unresolved(
            f"the host name {name} does not end with a hyphen and a number, as tidelog-0 does; rename the "
            f"host, or write the number in place of {whole}"
        )
    return str(int(ordinal[1]))


def _path_and_key(text: str) -> tuple[str, str | None]:
    path, colon, key = text.rpartition(":")
    return (path, key) if colon and path and key and "/" not in key else (text, None)


def _of_file(text: str, sources: VariableSources) -> str:
    name, key = _path_and_key(text)
    place = sources.place(name)
    try:
        data = sources.read(name)
        if len(data) > FILE_BYTES_MAX:
            raise Unresolved(f"{place} has more than {FILE_BYTES_MAX:,} bytes, too many for a value")
        content = data.decode()
    except OSError as error:
        raise Unresolved(f"cannot read {place}: {error.strerror}") from error
    except UnicodeDecodeError:
        # Its own text would show bytes of the file.
        raise Unresolved(f"{place} is not text") from None
    if key is None:
        return content.rstrip("\r\n")
    from tidelog.base.properties import (
        InvalidProperties,
        parse_properties,
    )  # few values come from such a file

    try:
        values = parse_properties(content)
    except InvalidProperties as error:
        raise Unresolved(f"{place}, line {error.line}: is not NAME=VALUE") from None
    if key not in values:
        names = ", ".join(sorted(values)) or "none"
        raise Unresolved(f"{place} has no {key}; its names are {names}")
    return values[key]
