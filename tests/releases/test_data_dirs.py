"""A data dir of each release: this version starts on it, and the release does once more, if it has to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.victim import Victim
from tests.releases import sample_data
from tests.releases.release import Release, releases
from tidelog import __version__

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_this_version_starts_on_it_and_the_release_again(
    release: Release, victim: Callable[..., Victim], source_of: Callable[[Release], Path]
) -> None:
    """Nothing raised a feature in between, so that the way back is open."""
    running = victim(**sample_data.SETTINGS)
    running.data = release.data(running.directory)
    for source in (None, source_of(release), None):
        running.source = source
        running.start()
        assert list(sample_data.what_is_wrong(running.address)) == []
        assert running.terminate() == 0, running.log_tail()
    assert "Traceback" not in running.log_text()
    assert "DAMAGED" not in running.log_text()


def test_a_release_is_kept() -> None:
    """The version under development is a later one than the last that is kept."""
    versions = [[int(part) for part in release.version.split(".")] for release in releases()]
    assert versions
    assert [int(part) for part in __version__.split(".")[:3]] > versions[-1]
