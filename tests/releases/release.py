"""A release that users run: its source, and data dirs that it wrote. Both are kept beside this file.

From 0.1.0 on a data dir is a promise: a later version starts on it, and works beside brokers of the release
before in one cluster. `python -m tests.releases.keep VERSION COMMIT` keeps another release.
"""

import tarfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Release:
    version: str

    @property
    def directory(self) -> Path:
        return HERE / self.version

    def source(self, into: Path) -> Path:
        """Unpacks the source; returns what goes to the front of `sys.path`."""
        target = into / f"tidelog-{self.version}"
        if not target.exists():
            unpack(self.directory / "source.tar.xz", target)
        return target / "src"

    def data(self, into: Path) -> Path:
        """Unpacks a data dir of one broker with `sample_data` in it."""
        unpack(self.directory / "data.tar.xz", into)
        return into / "data"


def releases() -> list[Release]:
    """All that are kept, oldest first."""
    versions = sorted(
        (path.name for path in HERE.iterdir() if (path / "source.tar.xz").exists()),
        key=lambda version: [int(part) for part in version.split(".")],
    )
    return [Release(version) for version in versions]


def unpack(archive: Path, into: Path) -> None:
    with tarfile.open(archive) as file:
        file.extractall(into, filter="data")


def pack(archive: Path, directory: Path, name: str) -> None:
    """Keeps `directory` as `name`, in order, without owners and times: the same content is the same file."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if "__pycache__" in entry.name:
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(archive, "w:xz", preset=9) as file:
        file.add(directory, name, filter=plain)
