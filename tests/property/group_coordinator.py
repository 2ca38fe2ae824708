"""A group coordinator with its log, clock and clients: what property tests do to groups with epochs."""

import random

from tests.rigs.shard_log import ShardLog
from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.topics import TopicInfo
from tidelog.groups.shard import GroupShard


class SeededRandom:
    def __init__(self):
        self._random = random.Random(1)

    def bytes(self, count):
        return self._random.randbytes(count)

    def below(self, limit):
        return self._random.randrange(limit)


class Coordinator:
    """`clients` are the world's, each with `mind_the_time`."""

    def __init__(self, settings, topics):
        self.now = 0.0
        self.log = ShardLog(lambda: (self.now, self.now_ms))
        self.random = SeededRandom()
        self.settings = settings
        self.topics = {
            name: TopicInfo(name.encode().ljust(16, b"."), count) for name, count in topics.items()
        }
        self.shard = self.log.load(self._new_shard())
        self.clients = []

    @property
    def now_ms(self):
        return 1_700_000_000_000 + round(self.now * 1000)

    def _new_shard(self):
        shard = GroupShard(self.settings, self.random)
        shard.on_topics_changed(self.topics)
        return shard

    def _replayed(self, records):
        shard = self._new_shard()
        for key, value in records:
            shard.replay(key, value)
        return shard

    def fail_once(self):
        self.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS, 1)

    def run(self, decision):
        return self.log.write(decision).answer

    def fail_over(self):
        before, count = self.shard, len(self.log.records)
        self.shard = self.log.load(self._new_shard())
        assert self.shard.durable == before.durable
        assert self._replayed(self.compacted(count)).durable == before.durable
        assert self._replayed(self.compacted(count // 2)).durable == before.durable

    def compacted(self, end):
        """The log, compacted up to `end`: of every key the last record, and no tombstones."""
        records = self.log.records
        last = {key: position for position, (key, _) in enumerate(records[:end])}
        kept = [
            record
            for position, record in enumerate(records[:end])
            if last[record.key] == position and record.value is not None
        ]
        return kept + records[end:]

    def pass_time(self, seconds):
        end = self.now + seconds
        while (deadline := self.shard.next_deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            for client in self.clients:
                client.mind_the_time()
            self.log.tick()
        self.now = end
        for client in self.clients:
            client.mind_the_time()

    def resize(self, name, partitions):
        """Topics come, grow and go; nobody can use a partition that is not there."""
        now = dict(self.topics)
        if partitions == 0:
            now.pop(name, None)
        else:
            had = now.get(name)
            generation = name.encode().ljust(15, b".") + bytes([len(self.log.records) % 256])
            now[name] = (
                TopicInfo(generation, partitions)
                if had is None
                else had._replace(partitions=max(partitions, had.partitions))
            )
        self.topics = now
        self.shard.on_topics_changed(self.topics)
