"""What a cluster remembers in its directory."""

from pathlib import Path

import pytest

from tidelog.cli.exits import CliError
from tidelog.cli.fleet.record import FILE, Recorded, recorded_fleet, write_record


def test_what_is_written_is_read(tmp_path: Path) -> None:
    recorded = Recorded("c", [1, 2, 3], [1, 2], cores=4)
    directory = str(tmp_path / "new")
    assert recorded_fleet(directory) is None
    write_record(directory, recorded)
    assert recorded_fleet(directory) == recorded
    assert [path.name for path in (tmp_path / "new").iterdir()] == [FILE]


def test_the_file_of_an_earlier_release_has_no_cores(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"cluster_id":"c","ports":[9092],"voters":[1]}')
    assert recorded_fleet(str(tmp_path)) == Recorded("c", [9092], [1], cores=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"cluster_id":"c","ports":[],"voters":[]}',
        '{"cluster_id":"c","ports":[1],"voters":[2]}',
        '{"cluster_id":"c","ports":[1],"voters":[1],"cores":0}',
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(CliError, match="cannot be understood") as caught:
        recorded_fleet(str(tmp_path))
    assert FILE in caught.value.message


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert recorded_fleet(str(tmp_path / "file")) is None
    with pytest.raises(CliError, match="Cannot write"):
        write_record(str(tmp_path / "file"), Recorded("c", [1], [1]))
