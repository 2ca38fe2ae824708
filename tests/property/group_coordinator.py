"""A group coordinator with its log, clock and clients: what property tests do to groups with epochs."""

import random

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
        self.log = []
        self.fails = False
        self.random = SeededRandom()
        self.settings = settings
        self.topics = {
            name: TopicInfo(name.encode().ljust(16, b"."), count) for name, count in topics.items()
        }
        self.shard = self._load()
        self.clients = []

    def _load(self, log=None):
        shard = GroupShard(self.settings, self.random)
        for key, value in self.log if log is None else log:
            shard.replay(key, value)
        shard.on_topics_changed(self.topics)
        shard.on_loaded(self.now, 0)
        return shard

    def run(self, outcome):
        if outcome.records and self.fails:
            self.fails = False
            self.shard.fail(outcome, ErrorCode.NOT_ENOUGH_REPLICAS, self.now, 0)
        elif outcome.records:
            self.log += outcome.records
            self.shard.apply(outcome, 0)
            self.shard.release(outcome, self.now, 0)
        return outcome.answer.answer

    def fail_over(self):
        before = self.shard
        self.shard = self._load()
        assert self.shard.durable == before.durable
        assert self._load(self.compacted(len(self.log))).durable == before.durable
        assert self._load(self.compacted(len(self.log) // 2)).durable == before.durable

    def compacted(self, end):
        """The log, compacted up to `end`: of every key the last record, and no tombstones."""
        last = {key: position for position, (key, _) in enumerate(self.log[:end])}
        kept = [
            record
            for position, record in enumerate(self.log[:end])
            if last[record.key] == position and record.value is not None
        ]
        return kept + self.log[end:]

    def pass_time(self, seconds):
        end = self.now + seconds
        while (deadline := self.shard.next_deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            for client in self.clients:
                client.mind_the_time()
            for outcome in self.shard.tick(self.now, 0):
                self.run(outcome)
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
            generation = name.encode().ljust(15, b".") + bytes([len(self.log) % 256])
            now[name] = (
                TopicInfo(generation, partitions)
                if had is None
                else had._replace(partitions=max(partitions, had.partitions))
            )
        self.topics = now
        self.shard.on_topics_changed(self.topics)
