"""Dead letters that an earlier leader left: a new leader loads the share partitions that have some.

Else they would wait until a member of the group comes. Only groups with a dead-letter topic are asked for,
and only at partitions that got a new leader here: a cluster without such groups pays nothing.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_EPOCH, Uuid
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.metadata.configs.dead_letter_topics import TOPIC_NAME
from tidelog.metadata.image.image import SHARE_VERSION, ClusterImage, ImageDelta
from tidelog.shares.place import SharePlace

if TYPE_CHECKING:
    from tidelog.broker.shares.ports import StateStore

SINCE_SHARE_VERSION: Final = 2
WAIT_SECONDS: Final = 5.0
"""Members that follow the leader load what they read themselves, and many changes are looked at together."""
RETRY_SECONDS: Final = 30.0

log = logging.getLogger("tidelog.broker.shares")


class LeftLetters:
    def __init__(
        self, metadata: MetadataService, store: "StateStore", load: Callable[[SharePlace], None]
    ) -> None:
        """`load` begins to load a share partition; KafkaError if this broker does not lead it any more."""
        self._metadata = metadata
        self._store = store
        self._load = load
        self._is_started = False
        self._led: dict[tuple[Uuid, int], None] = {}
        """Partitions that this broker leads since the last look."""
        self._task: asyncio.Task[None] | None = None
        metadata.on_change(self._on_change)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _on_change(self, delta: ImageDelta) -> None:
        after, node_id = delta.after, self._metadata.node_id
        if after.features.get(SHARE_VERSION, 0) < SINCE_SHARE_VERSION:
            return
        changed = delta.partitions_changed
        if not self._is_started:  # what this broker leads from the start on
            self._is_started = True
            changed = tuple(after.partitions())
        for topic, partition in changed:
            before = delta.previous(topic, partition.index)
            is_new = before is None or before.leader_epoch != partition.leader_epoch or before is partition
            if partition.leader == node_id and is_new:
                self._led[topic.id, partition.index] = None
        if self._led and self._task is None:
            if not _groups(after):
                self._led.clear()
                return
            self._task = asyncio.get_running_loop().create_task(self._run(), name="left dead letters")

    async def _run(self) -> None:
        pause = WAIT_SECONDS
        try:
            while self._led:
                await asyncio.sleep(pause)
                led, self._led = self._led, {}
                for group_id in _groups(self._metadata.image):
                    for topic_id, index in led:
                        if not await self._look(SharePlace(group_id, topic_id, index)):
                            self._led[topic_id, index] = None
                            pause = RETRY_SECONDS
        except Exception:
            log.exception("dead letters that earlier leaders left are not looked for")
        finally:
            self._task = None

    async def _look(self, place: SharePlace) -> bool:
        """Returns whether it is done: no state, no dead letters, or a load that has begun."""
        from tidelog.broker.shares.large_states import StateReader
        from tidelog.broker.shares.state_saver import FENCED
        from tidelog.shares.states import DeliveryState

        # Without an epoch it is a look that fences no leader.
        parts = StateReader(self._store).read(place, NO_EPOCH)
        archiving = DeliveryState.ARCHIVING
        has_letters = False
        try:
            while not has_letters and (part := await parts.next()) is not None:
                has_archiving = any(batch.delivery_state == archiving for batch in part.state_batches)
                has_letters = has_archiving or bool(part.dead_letter_writes)
        except KafkaError as error:
            return error.code in FENCED
        if has_letters:
            try:
                self._load(place)
            except KafkaError as error:
                log.info("dead letters of share group %s are not written here: %s", place.group_id, error)
        return True


def _groups(image: ClusterImage) -> list[str]:
    """Groups with a dead-letter topic."""
    return [group_id for group_id, configs in image.group_configs.items() if configs.get(TOPIC_NAME)]
