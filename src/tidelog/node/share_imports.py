"""Imports in a thread what share groups need, as soon as the cluster has their state topic.

A broker without share groups does not import it at all; the first fetch of a member would do it on the event
loop, and hold up every other client for some 70 ms.
"""

from importlib import import_module
from typing import Final

from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.metadata.image.image import ImageDelta
from tidelog.metadata.topics.names import SHARE_GROUP_STATE

MODULES: Final = (
    "tidelog.broker.shares.persister",
    "tidelog.shares.state.shard",
    "tidelog.broker.handlers.shares.share_group_heartbeat",
    "tidelog.broker.handlers.shares.share_fetch",
    "tidelog.broker.handlers.shares.share_acknowledge",
    "tidelog.broker.shares.dead_letters.sending",
    "tidelog.broker.shares.dead_letters.writer",
    "tidelog.broker.shares.schedule.schedule",
    "tidelog.broker.shares.share_partitions",
)


class ShareImports:
    def __init__(self, metadata: MetadataService, run_in_thread: RunInThread) -> None:
        self._run_in_thread = run_in_thread
        self._is_begun = False
        metadata.on_change(self._on_change)

    def _on_change(self, delta: ImageDelta) -> None:
        if not self._is_begun and SHARE_GROUP_STATE in delta.after.topics:
            self._is_begun = True
            self._run_in_thread(import_all)


def import_all() -> None:
    for name in MODULES:
        import_module(name)
