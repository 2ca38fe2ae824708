"""`tidelog log`: files of partitions, without a broker. `dump` and `check` do not change a byte."""

import os
from collections.abc import Iterator

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.log.check import check
from tidelog.cli.log.dumped import Dumped
from tidelog.cli.log.encryption import decrypt, encrypt, new_key, rekey
from tidelog.cli.log.files import key_options
from tidelog.cli.output import coloured, print_json_line
from tidelog.cli.session import Session, json_option, pass_session

CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


@click.group(cls=FullHelpGroup)
def log() -> None:
    """Look inside the files of partitions, check them, encrypt them."""


@log.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path())
@click.option(
    "-r", "--records", is_flag=True, help="Show the records in a .log file or a snapshot of metadata."
)
@click.option(
    "-n", "--count", type=click.IntRange(min=1), metavar="N", help="Stop after N batches or entries."
)
@json_option
@key_options
@pass_session
def dump(session: Session, files: tuple[str, ...], records: bool, count: int | None) -> int:
    """Show the contents of a partition's files, and whether they are damaged.

    Reads .log, .index, .timeindex, .txnindex and .snapshot files, leader-epoch-checkpoint and the other
    checkpoints; of the cluster's metadata also its .checkpoint files and quorum-state. Of a directory, every
    .log file. Index entries are compared with the .log file beside them.
    Exits with 1 if it finds damage. With --json, each batch, record and entry is a line.

    \b
    tidelog log dump data/orders-0/00000000000000000000.log --records
    tidelog log dump data/orders-0
    """
    damaged = 0
    paths = [path for file in files for path in _expand(file)]
    for path in paths:
        if len(paths) > 1 and not session.json:
            print(click.style(path, bold=True) if coloured() else path)
        damaged += _print(session, path, _dump(path, records), count)
    return Exit.FAILED if damaged else Exit.OK


def _expand(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(".log"))
    if not found:
        raise _no_partition(path)
    return found


def _no_partition(path: str) -> CliError:
    from tidelog.base.disk import PosixDisk
    from tidelog.storage.log_dir.partition_dir import listing

    found = listing(PosixDisk(), path.rstrip("/") or "/")
    inside = [one.path for one in sorted(found, key=lambda one: (one.topic.startswith("__"), one.path))]
    if inside:
        return CliError(
            f"The directory {path} holds {len(inside)} partitions, and no .log file itself.",
            cause="it is the log dir of a broker.",
            attempt=f"tidelog log dump {inside[0]} for one partition, or tidelog log check {path} for all",
            code=Exit.USAGE,
        )
    return CliError(
        f"The directory {path} holds no .log file.",
        cause="it is not the directory of a partition, which is named topic-number.",
        code=Exit.NOT_FOUND,
    )


def _print(session: Session, path: str, lines: Iterator[Dumped], count: int | None) -> int:
    damaged = shown = 0
    try:
        for line in lines:
            if count is not None and line.counts and shown == count:
                break
            shown += line.counts
            damaged += line.damage
            if session.json:
                print_json_line({"file": path, "kind": line.kind, **line.facts})
            else:
                print(click.style(line.text, fg="red") if line.damage and coloured() else line.text)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise CliError(f"Cannot read {path}: {error.strerror}.", code=_code(error)) from error
    return damaged


def _code(error: OSError) -> Exit:
    return Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED


def _dump(path: str, records: bool) -> Iterator[Dumped]:
    name = os.path.basename(path).removesuffix(".deleted")
    stem, _, suffix = name.rpartition(".")
    if suffix == "log":
        from tidelog.cli.log.dump.segment import dump_segment

        return dump_segment(path, _base(stem), records)
    if suffix in ("index", "timeindex", "txnindex"):
        from tidelog.cli.log.dump.index import dump_offset_index, dump_time_index, dump_txn_index

        reader = {"index": dump_offset_index, "timeindex": dump_time_index, "txnindex": dump_txn_index}[
            suffix
        ]
        return reader(path, _base(stem))
    if suffix == "snapshot":
        from tidelog.cli.log.dump.state import dump_snapshot

        return dump_snapshot(path, _base(stem))
    if suffix in ("checkpoint", "install"):
        from tidelog.cli.log.dump.metadata import dump_metadata_snapshot

        return dump_metadata_snapshot(path, records)
    if name == "quorum-state":
        from tidelog.cli.log.dump.metadata import dump_quorum_state

        return dump_quorum_state(path)
    if name == "leader-epoch-checkpoint":
        from tidelog.cli.log.dump.state import dump_leader_epochs

        return dump_leader_epochs(path)
    if name in CHECKPOINTS:
        from tidelog.cli.log.dump.state import dump_checkpoint

        return dump_checkpoint(path)
    if not os.path.exists(path):
        raise CliError(f"There is no file {path}.", code=Exit.NOT_FOUND)
    raise CliError(
        f"{path} is not a file that this command reads.",
        cause="it reads .log, .index, .timeindex, .txnindex, .snapshot and .checkpoint files, checkpoints "
        "and quorum-state.",
        attempt="tidelog log dump DIR, for every .log file in it",
        code=Exit.USAGE,
    )


def _base(stem: str) -> int:
    """The offset that a file is named after; a file that was renamed counts from 0."""
    return int(stem) if stem.isdigit() else 0


for command in (check, new_key, rekey, encrypt, decrypt):
    log.add_command(command)
