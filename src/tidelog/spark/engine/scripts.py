"""Small shell scripts that stand in for programs Spark starts, kept in the user's cache."""

import os
import stat
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Where things are kept that can be made again at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "tidelog"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a user without a home of its own
        folder = Path(tempfile.gettempdir()) / f"tidelog-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours(folder):  # scripts are run from there
            return Path(tempfile.mkdtemp(prefix="tidelog-"))
    return folder


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can change what is in it; anybody can make a folder of that name first."""
    found = folder.lstat()
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
