"""`tidelog log check`: is everything in a stopped broker's log dir whole?"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict

import click

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import StorageError
from tidelog.base.units import size_text
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.log.core_dirs import core_dirs
from tidelog.cli.log.files import key_options
from tidelog.cli.log.log_dir_check import Checked, LogDirCheck
from tidelog.cli.output import coloured, print_json_line
from tidelog.cli.session import Session, json_option, pass_session
from tidelog.storage.file_names import LOG
from tidelog.storage.log_dir.files import LOCK, META
from tidelog.storage.log_dir.partition_dir import PartitionDir

TELL_SECONDS = 0.5


@click.command()
@click.argument("log_dirs", nargs=-1, required=True, metavar="DIR…", type=click.Path())
@click.option("-v", "--verbose", is_flag=True, help="Show undamaged partitions too.")
@json_option
@key_options
@pass_session
def check(session: Session, log_dirs: tuple[str, ...], verbose: bool) -> int:
    """Check every file in the log dir of a stopped broker.

    Reads each segment of each partition and checks the CRC of every batch; compares indexes, leader epochs
    and recovery points with the batches; checks producer snapshots, checkpoints, partition.metadata,
    meta.properties, and the cluster's metadata. Of a machine with several cores, the log dirs of all; of the
    directory of one partition, that one alone. Nothing is changed. Exits with 1 if something is damaged. With
    --json, a line for each directory, then a summary.

    \b
    tidelog log check data
    tidelog log check data/orders-0
    """
    progress = _Progress(quiet=session.json)
    total, damaged, partitions = Checked(""), 0, 0
    for path in (found for log_dir in log_dirs for found in core_dirs(log_dir)):
        for checked in _checked(path, progress):
            total.segments += checked.segments
            total.batches += checked.batches
            total.records += checked.records
            total.bytes += checked.bytes
            damaged += bool(checked.damage)
            partitions += checked.segments > 0
            if session.json:
                print_json_line({"kind": "folder", **asdict(checked)})
            elif verbose or checked.damage or checked.notes:
                progress.clear()
                _show(checked)
            progress.partitions = partitions
    progress.clear()
    summary = {
        "partitions": partitions,
        "segments": total.segments,
        "batches": total.batches,
        "records": total.records,
        "bytes": total.bytes,
        "damaged_folders": damaged,
    }
    if session.json:
        print_json_line({"kind": "summary", **summary})
    else:
        verdict = "all whole" if not damaged else f"{damaged} damaged director{'ies' if damaged > 1 else 'y'}"
        print(
            f"{partitions:,} partitions, {total.segments:,} segments, {total.records:,} records, "
            f"{size_text(total.bytes)}: {verdict}"
        )
    return Exit.FAILED if damaged else Exit.OK


def checked_dirs(path: str) -> Iterator[Checked]:
    """What is in a log dir of a stopped broker, or in one partition directory. CliError if it is neither."""
    return _checked(path, _Progress(quiet=True))


def _checked(path: str, progress: "_Progress") -> Iterator[Checked]:
    if not os.path.isdir(path):
        raise CliError(f"There is no directory {path}.", code=Exit.NOT_FOUND)
    path = os.path.abspath(path)
    _check_stopped(path)
    if any(name.endswith(LOG) for name in os.listdir(path)):
        topic, _, index = os.path.basename(path).rpartition("-")
        parent = LogDirCheck(os.path.dirname(path), progress.on_bytes)
        yield parent.only(PartitionDir(path, topic, int(index) if index.isdigit() else 0, False))
        return
    data = LogDirCheck(path, progress.on_bytes)
    if not data.partitions and not os.path.exists(f"{path}/{META}"):
        raise CliError(
            f"{path} is not the log dir of a broker.",
            cause=f"it holds neither {META} nor partition directories, which are named topic-number.",
            attempt="tidelog log check DIR, with one of the log dirs that log.dirs names",
            code=Exit.NOT_FOUND,
        )
    yield from data.run()


def _check_stopped(path: str) -> None:
    """A running broker writes while this reads: what it finds would be no damage."""
    for log_dir in (path, os.path.dirname(path)):
        lock = f"{log_dir}/{LOCK}"
        if os.path.exists(lock):
            try:
                PosixDisk().lock(lock).release()
            except StorageError as error:
                raise CliError(
                    f"A broker uses {log_dir}.",
                    cause=str(error),
                    attempt="stop the broker first, or look at single files with tidelog log dump",
                    code=Exit.FAILED,
                ) from error
            except OSError:
                pass  # a directory that cannot be written to is not in use


def _show(checked: Checked) -> None:
    counts = f"{checked.segments:,} segments, {checked.records:,} records, {size_text(checked.bytes)}"
    verdict = "DAMAGED" if checked.damage else "whole"
    line = f"{checked.path}: {counts}: {verdict}" if checked.segments else f"{checked.path}: {verdict}"
    print(click.style(line, fg="red") if checked.damage and coloured() else line)
    for damage in checked.damage:
        print(f"  {damage}")
    for note in checked.notes:
        print(f"  note: {note}")


class _Progress:
    """How far the check is, for a person at a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._shows = not quiet and sys.stderr.isatty()
        self._bytes = 0
        self._shown_at = time.monotonic()
        self.partitions = 0

    def on_bytes(self, count: int) -> None:
        self._bytes += count
        now = time.monotonic()
        if self._shows and now - self._shown_at >= TELL_SECONDS:
            self._shown_at = now
            shown = f"\r\x1b[Kchecked {self.partitions:,} partitions, {size_text(self._bytes)}"
            print(shown, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
