"""No dump of the metadata shows a secret."""

from pathlib import Path

import msgspec
import pytest

from tidelog.base.disk import PosixDisk
from tidelog.cli.exits import Exit
from tidelog.cli.log.dump.secrets import without_secrets
from tidelog.cli.main import run
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import ConfigChanged, ResourceKind, encode_record
from tidelog.metadata.image.security_records import ScramCredentialChanged
from tidelog.metadata.store import store as quorum_store
from tidelog.metadata.store.entries.data import encode_decision
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.entries import Configuration, Entry, EntryKind, Voter
from tidelog.raft.ready import HardState, Ready

NAMES = ("listener.name.clients.ssl.key.password", "listener.name.clients.ssl.keystore.key")
RECORDS = [
    *(ConfigChanged(ResourceKind.BROKER, "1", name, "tell-no-one") for name in NAMES),
    ConfigChanged(ResourceKind.BROKER, "1", "max.connections", "77"),
    ScramCredentialChanged("ann", "SCRAM-SHA-256", 4096, b"salty", b"stored", b"server"),
]
SECRETS = ["tell-no-one", "c2FsdHk", "c3RvcmVk", "c2VydmVy"]  # bytes are in base64


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_entries_and_snapshots(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
) -> None:
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1)
    directory = tmp_path / "__cluster_metadata-0"
    store = QuorumStore.open(PosixDisk(), str(directory))
    entries = [Entry(3, EntryKind.NOOP), Entry(3, EntryKind.DATA, encode_decision(RECORDS))]
    write = store.begin(Ready(hard_state=HardState(4, 2), entries=entries), 1)
    assert write is not None
    write.run()
    store.finish(write)
    voters = Configuration((Voter(1, "a:9092"),))
    snapshot = store.begin_snapshot(advance(ClusterImage(), RECORDS).after, 1, 3, voters, 1)
    assert snapshot is not None
    snapshot.run()
    assert store.finish_snapshot(snapshot)
    for file in [directory, *directory.iterdir()]:
        if file.suffix in ("", ".log", ".checkpoint", ".snapshot"):
            assert run(["log", "dump", str(file), "--records", *options]) in (Exit.OK, Exit.USAGE)
    shown = capsys.readouterr().out
    assert NAMES[0] in shown
    assert "(hidden)" in shown
    assert '"77"' in shown
    assert not [secret for secret in SECRETS if secret in shown]


def test_what_is_deleted_shows_that() -> None:
    gone = msgspec.json.decode(encode_record(ConfigChanged(ResourceKind.BROKER, "1", NAMES[0], None)))
    assert without_secrets(gone) == gone
    assert without_secrets("damaged") == "damaged"
