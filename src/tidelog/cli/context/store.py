"""The file of contexts: for each name the brokers and client properties, and which context is current.

current: prod
contexts:
  prod:
    bootstrap.servers: broker-1.example.net:9093
    security.protocol: sasl_ssl
    sasl.password: ${env:PROD_PASSWORD}

It may hold secrets, so only its owner may read it: mode 0600, which is checked before it is read.
"""

import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidelog.cli.exits import CliError, Exit

FILE = "contexts.yaml"
SERVERS = "bootstrap.servers"


@dataclass(frozen=True)
class SavedContext:
    properties: dict[str, str]
    """As written: variables are not resolved."""
    lines: dict[str, int] = field(default_factory=dict)
    """Of each property in the file."""


@dataclass
class Contexts:
    current: str | None = None
    by_name: dict[str, SavedContext] = field(default_factory=dict)

    def of(self, name: str) -> SavedContext:
        if name not in self.by_name:
            names = ", ".join(sorted(self.by_name)) or "none"
            raise CliError(
                f"There is no context '{name}'.",
                cause=f"the contexts are: {names}.",
                attempt="tidelog context list",
                code=Exit.NOT_FOUND,
            )
        return self.by_name[name]


def contexts_path(environment: Mapping[str, str] | None = None) -> Path:
    found = os.environ if environment is None else environment
    configured = found.get("XDG_CONFIG_HOME", "")
    # The standard has relative paths ignored.
    directory = Path(configured) if os.path.isabs(configured) else Path("~/.config").expanduser()
    return directory / "tidelog" / FILE


def read_contexts(path: Path) -> Contexts:
    """No file means no contexts. Raises CliError for a file that others can read, or of another form."""
    try:
        # Checked on the open file: the path may lead to another file a moment later.
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise CliError(
                    f"{path} can be read or changed by other users (mode {mode:04o}).",
                    cause="it may hold passwords, so it must belong to its owner alone.",
                    attempt=f"chmod 600 {path}",
                    code=Exit.DENIED,
                )
            data = file.read()
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.", code=Exit.NOT_FOUND) from error
    return _parsed(data, path)


def write_contexts(path: Path, contexts: Contexts) -> None:
    """Replaces the file as a whole, so that a crash leaves the old one."""
    import yaml

    document: dict[str, Any] = {} if contexts.current is None else {"current": contexts.current}
    document["contexts"] = {name: saved.properties for name, saved in contexts.by_name.items()}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=10_000)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o600)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(fresh, path)
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.") from error


@contextmanager
def changed_contexts(path: Path) -> Iterator[Contexts]:
    """Contexts to change, which are written at the end. Other processes wait meanwhile: each of them reads
    what the one before it wrote, so that no change is lost."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = path.with_name(f".{path.name}.lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        contexts = read_contexts(path)
        yield contexts
        write_contexts(path, contexts)
    finally:
        os.close(descriptor)


def _parsed(data: bytes, path: Path) -> Contexts:
    import yaml

    try:
        root = yaml.compose(data.decode(), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise _malformed(path, 1, "is not UTF-8 text") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # Its own text would show a piece of the file.
        raise _malformed(path, mark.line + 1 if mark else 1, "is not YAML") from None
    contexts = Contexts()
    for key, node in _entries(root, path):
        if key == "current" and node.id == "scalar":
            contexts.current = str(node.value) or None
        elif key == "contexts":
            contexts.by_name = {name: _context(inner, path) for name, inner in _entries(node, path)}
        else:
            raise _malformed(path, node.start_mark.line + 1, f"'{key}' is neither current nor contexts")
    return contexts


def _context(node: Any, path: Path) -> SavedContext:
    made = SavedContext({})
    for name, value in _entries(node, path):
        if value.id != "scalar":
            raise _malformed(path, value.start_mark.line + 1, f"{name} must have one value")
        made.properties[name] = str(value.value)
        made.lines[name] = value.start_mark.line + 1
    return made


def _entries(node: Any, path: Path) -> list[tuple[str, Any]]:
    if node is None or (node.id == "scalar" and not node.value):
        return []
    if node.id != "mapping":
        raise _malformed(path, node.start_mark.line + 1, "names with values are wanted here")
    for key, _ in node.value:
        if key.id != "scalar":
            raise _malformed(path, key.start_mark.line + 1, "a name must be a text")
    return [(str(key.value), value) for key, value in node.value]


def _malformed(path: Path, line: int, reason: str) -> CliError:
    return CliError(f"{path}, line {line}: {reason}.", attempt="tidelog context --help", code=Exit.USAGE)
