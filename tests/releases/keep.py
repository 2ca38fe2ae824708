"""Keeps a release: `python -m tests.releases.keep 0.1.0 COMMIT` stores its source, and data that it wrote.

Run it once for each release, from the commit that was released, and commit both files.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.chaos.victim import Victim
from tests.releases import sample_data
from tests.releases.release import Release, pack
from tests.rigs.repository import ROOT


def keep(version: str, commit: str) -> None:
    release = Release(version)
    release.directory.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        archive = directory / "source.tar"
        subprocess.run(["git", "archive", "-o", archive, commit, "src/tidelog"], cwd=ROOT, check=True)
        with tarfile.open(archive) as file:
            file.extractall(directory, filter="data")
        pack(release.directory / "source.tar.xz", directory / "src", "src")
        broker = Victim(directory / "broker", sample_data.SETTINGS)
        broker.source = directory / "src"
        broker.start()
        sample_data.write(broker.address)
        wrong = list(sample_data.what_is_wrong(broker.address))
        assert not wrong, wrong
        assert broker.terminate() == 0, broker.log_tail()
        pack(release.directory / "data.tar.xz", broker.data, "data")
    for file in release.directory.iterdir():
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    keep(*sys.argv[1:3])
