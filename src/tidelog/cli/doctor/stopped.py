"""Checks of the log dir of a stopped broker: is it whole, was it stopped cleanly, is there room."""

import os
import shutil
from collections.abc import Iterator

from tidelog.cli.doctor.checks.disks import check_space
from tidelog.cli.exits import CliError
from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.log.check import checked_dirs
from tidelog.storage.log_dir.files import CLEAN_SHUTDOWN

SHOWN_MAX = 3


def check_log_dir(path: str) -> Iterator[CheckFinding]:
    """CliError if there is no such log dir."""
    usage = shutil.disk_usage(path) if os.path.isdir(path) else None
    if usage is not None:
        yield from check_space(path, usage.free, usage.total)
    try:
        for checked in checked_dirs(path):
            if checked.damage:
                shown = "; ".join(checked.damage[:SHOWN_MAX])
                more = (
                    f"; and {len(checked.damage) - SHOWN_MAX} more" if len(checked.damage) > SHOWN_MAX else ""
                )
                yield CheckFinding(
                    "logs-damaged",
                    Severity.SERIOUS,
                    checked.path,
                    f"{shown}{more}",
                    "records may be lost here; the start repairs what it can and sets the rest aside.",
                    f"keep a copy, see tidelog log check {checked.path}; other replicas may have the records",
                )
    except CliError as error:
        if error.message.startswith("A broker uses "):
            raise CliError(
                error.message,
                cause=error.cause,
                attempt="tidelog doctor, without --data, which asks the running cluster",
                code=error.code,
            ) from error
        raise
    if not os.path.exists(os.path.join(path, CLEAN_SHUTDOWN)):
        yield CheckFinding(
            "unclean-stop",
            Severity.LOW,
            path,
            "the broker was not stopped cleanly",
            "its next start checks the logs, which takes longer.",
            "see why it ended: its log, the system's log; stop brokers with SIGTERM and wait",
        )
