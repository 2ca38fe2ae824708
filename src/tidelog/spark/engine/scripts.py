"""Small shell scripts that stand in for programs Spark starts, kept in the user's cache."""

import os
import stat
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """Where things are kept that can be made again at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base) / "tidelog"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:  # a user without a home of its own
        directory = Path(tempfile.gettempdir()) / f"tidelog-{os.getuid()}"
        directory.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours(directory):  # scripts are run from there
            return Path(tempfile.mkdtemp(prefix="tidelog-"))
    return directory


def _is_ours(directory: Path) -> bool:
    """Whether only this user can change its contents; any user can create a directory of that name first."""
    found = directory.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def write_script(script: Path, text: str) -> Path:
    """In one step: another process may be about to run it."""
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"{script.name}.{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)
    return script
