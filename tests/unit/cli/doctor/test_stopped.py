"""The log dir of a stopped broker: whole, damaged, not stopped cleanly."""

from pathlib import Path

import pytest

from tidelog.cli.doctor.stopped import check_log_dir
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.findings import Severity
from tidelog.storage.log_dir.files import CLEAN_SHUTDOWN, META
from tidelog.storage.log_dir.identity import LogDirIdentity


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    (tmp_path / META).write_bytes(LogDirIdentity("cluster", 1, "directory").dump())
    (tmp_path / CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":3}\n')
    return tmp_path


def codes(path: Path) -> dict[str, Severity]:
    found = {finding.code: finding.severity for finding in check_log_dir(str(path))}
    return {code: severity for code, severity in found.items() if code != "disk-nearly-full"}


def test_a_log_dir_that_was_closed_cleanly_has_no_finding(log_dir: Path) -> None:
    assert codes(log_dir) == {}


def test_an_unclean_stop_is_a_low_finding(log_dir: Path) -> None:
    (log_dir / CLEAN_SHUTDOWN).unlink()
    assert codes(log_dir) == {"unclean-stop": Severity.LOW}


def test_damage_is_serious(log_dir: Path) -> None:
    partition = log_dir / "orders-0"
    partition.mkdir()
    (partition / f"{0:020}.log").write_bytes(b"no batch at all, and far too much of it to be a header" * 3)
    assert codes(log_dir) == {"logs-damaged": Severity.SERIOUS}


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CliError) as caught:
        codes(tmp_path)
    assert caught.value.code is Exit.NOT_FOUND
