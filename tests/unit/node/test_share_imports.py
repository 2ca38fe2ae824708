"""What share groups need is imported in a thread, once, and only where there are share groups."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tidelog.metadata.image.entities import TopicImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.topics.names import SHARE_GROUP_STATE
from tidelog.node.share_imports import ShareImports, import_all

FIRST_FETCH = """
import sys, tidelog.node.node
from types import SimpleNamespace as Bag
from tidelog.base.config.config import load
from tidelog.node.share_imports import import_all
assert "tidelog.broker.shares.share_partitions" not in sys.modules
import_all()
before = set(sys.modules)
import tidelog.broker.handlers.shares.share_fetch
from tidelog.broker.handlers.shares.served import shares_of
metadata = Bag(config=load(), on_change=lambda _: None)
clock = Bag(monotonic=lambda: 0.0, now_ms=lambda: 0)
others = dict.fromkeys(("shares", "partitions", "peers", "forwarding", "run_in_thread"))
shares_of(Bag(persister=Bag(), clock=clock, metadata=metadata, producer_ids=Bag(take=None), **others))
late = sorted(name for name in set(sys.modules) - before if name.startswith("tidelog."))
assert not late, late
"""


class Metadata:
    def on_change(self, listener: Callable[[ImageDelta], None]) -> None:
        self.listener = listener


def test_it_begins_with_the_state_topic() -> None:
    metadata: Any = Metadata()
    jobs: list[Callable[[], None]] = []
    run: Any = jobs.append
    ShareImports(metadata, run)
    without = ClusterImage()
    metadata.listener(ImageDelta(without, without))
    assert jobs == []
    topic = TopicImage(SHARE_GROUP_STATE, bytes(16), ())
    within = ClusterImage(topics={SHARE_GROUP_STATE: topic})
    metadata.listener(ImageDelta(without, within))
    metadata.listener(ImageDelta(within, within))
    assert jobs == [import_all]


def test_the_first_fetch_of_a_member_has_nothing_left_to_import() -> None:
    """In a process of its own: this one may have imported everything."""
    subprocess.run([sys.executable, "-c", FIRST_FETCH], check=True)
