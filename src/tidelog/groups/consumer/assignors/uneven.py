"""Uniform for members that do not all read the same topics.

Every member keeps what it had, the rest goes to the members that have least, and then partitions move along
the shortest chains from a member with more to one with at least two fewer. When there is no such
chain, no assignment is more even: that is a known theorem about matchings of this kind.
"""

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.assignors.assignor import Members, Targets, Topics, Unassigned


def assign(topics: Topics, members: Members) -> Targets:
    plan = _Plan(topics, members)
    plan.level()
    return {
        member_id: {topic: frozenset(numbers) for topic, numbers in held.items() if numbers}
        for member_id, held in plan.held.items()
    }


class _Plan:
    def __init__(self, topics: Topics, members: Members) -> None:
        self.held: dict[str, dict[Uuid, set[int]]] = {member_id: {} for member_id in sorted(members)}
        self.load = dict.fromkeys(self.held, 0)
        self.readers: dict[Uuid, list[str]] = {topic: [] for topic in topics}
        unassigned = Unassigned(topics)
        for member_id in self.held:
            spec = members[member_id]
            for topic in spec.topics:
                self.readers[topic].append(member_id)
            for topic in sorted(spec.topics & spec.target.keys()):
                for partition in spec.target[topic]:
                    if unassigned.take(topic, partition):
                        self._give(member_id, topic, partition)
        self._hand_out(unassigned)

    def level(self) -> None:
        """Take from those with most first, until nothing can be made more even."""
        by_load = [(-load, member_id) for member_id, load in self.load.items()]
        heapify(by_load)
        finished: set[str] = set()
        while by_load:
            load, member_id = heappop(by_load)
            if -load != self.load[member_id] or member_id in finished:
                continue  # finished, or an entry from before a move
            chain = self._chain_from(member_id, finished)
            for giver, topic, taker in chain:
                self._move(giver, topic, taker)
            if chain:
                for changed in (member_id, chain[-1][2]):
                    heappush(by_load, (-self.load[changed], changed))

    def _hand_out(self, unassigned: Unassigned) -> None:
        """Topics that few can read first; the others can make up for them."""
        by_topic: dict[Uuid, list[int]] = {}
        for topic, partition in unassigned.rest():
            by_topic.setdefault(topic, []).append(partition)
        for topic in sorted(by_topic, key=lambda one: (len(self.readers[one]), one)):
            least = [(self.load[member_id], member_id) for member_id in self.readers[topic]]
            heapify(least)
            for partition in by_topic[topic] if least else ():
                member_id = least[0][1]
                self._give(member_id, topic, partition)
                heapreplace(least, (self.load[member_id], member_id))

    def _chain_from(self, start: str, finished: set[str]) -> list[tuple[str, Uuid, str]]:
        """Returns the shortest chain of moves that ends with a member that has at least two fewer.

        Without such a chain every member in reach has the load of `start`, give or take one. A later start
        has no more than that, so it finds no receiver among them: they are finished for good.
        """
        came: dict[str, tuple[str, Uuid]] = {}
        seen_topics: set[Uuid] = set()
        seen = {start}
        queue = deque([start])
        while queue:
            giver = queue.popleft()
            for topic, numbers in self.held[giver].items():
                if not numbers or topic in seen_topics:
                    continue
                seen_topics.add(topic)
                for taker in self.readers[topic]:
                    if taker in seen or taker in finished:
                        continue
                    seen.add(taker)
                    came[taker] = (giver, topic)
                    if self.load[taker] <= self.load[start] - 2:
                        return _unwound(came, start, taker)
                    queue.append(taker)
        finished |= seen
        return []

    def _move(self, giver: str, topic: Uuid, taker: str) -> None:
        numbers = self.held[giver][topic]
        partition = max(numbers)
        numbers.remove(partition)
        self.load[giver] -= 1
        self._give(taker, topic, partition)

    def _give(self, member_id: str, topic: Uuid, partition: int) -> None:
        self.held[member_id].setdefault(topic, set()).add(partition)
        self.load[member_id] += 1


def _unwound(came: dict[str, tuple[str, Uuid]], start: str, end: str) -> list[tuple[str, Uuid, str]]:
    chain = []
    taker = end
    while taker != start:
        giver, topic = came[taker]
        chain.append((giver, topic, taker))
        taker = giver
    return chain[::-1]
