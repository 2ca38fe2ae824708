"""Apache Kafka's own classes read checkpoints, partition.metadata and meta.properties, checksums and all."""

from pathlib import Path

import pytest

from tests.interop.kafka_jars import HERE, JVM, QUIET, compiled, missing_tool, run
from tidelog.base.disk import PosixDisk
from tidelog.base.ids import uuid_text
from tidelog.storage.leader_epochs import LeaderEpochs, write
from tidelog.storage.log_dir.files import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    LogDirFiles,
    LogDirIdentity,
)

TOPIC_ID = bytes(range(16))


def test_kafka_passes_over_the_checksums(tmp_path: Path) -> None:
    if (missing := missing_tool()) is not None:
        pytest.skip(missing)
    identity = LogDirIdentity(uuid_text(b"c" * 16), 7, uuid_text(b"d" * 16))
    data = LogDirFiles.open(PosixDisk(), str(tmp_path / "data"), identity)
    offsets = {("orders", 0): 1204, ("orders", 1): 977}
    for name in (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS):
        data.write_checkpoint(name, offsets)
    directory = data.create_partition("orders", 0, TOPIC_ID)
    epochs = LeaderEpochs()
    epochs.assign(1, 0)
    epochs.assign(3, 800)
    write(PosixDisk(), f"{directory}/leader-epoch-checkpoint", epochs)
    said = run([*JVM, *QUIET, "-cp", compiled(HERE / "java"), "SmallFiles", data.path, "orders-0"])
    for name in (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS):
        assert f"{name} {{orders-0=1204, orders-1=977}}" in said
    assert "epoch=1, startOffset=0" in said
    assert "epoch=3, startOffset=800" in said
    assert f"topic {uuid_text(TOPIC_ID)}" in said
    assert f"meta {identity.cluster_id} 7 {identity.directory_id}" in said
