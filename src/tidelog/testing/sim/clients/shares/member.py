"""A member of a share group: takes records, and does with them all that members do, in order and out of it.

It accepts, releases with and without a delay, rejects and renews; it forgets records until their locks end
and acknowledges them then, acknowledges twice, and acknowledges what it does not have; it hangs, leaves and
comes back. Once it drains, it accepts all at once.
"""

import asyncio
from itertools import count
from typing import NamedTuple

from tidelog.shares.states import AckType
from tidelog.testing.share_history import NOT_HELD, ShareGroupPlan, ShareHistory
from tidelog.testing.sim.clients.client import Address, Client
from tidelog.testing.sim.clients.shares.membership import ShareMembership
from tidelog.testing.sim.clients.shares.requests import Place, PlannedAck
from tidelog.testing.sim.clients.shares.session import ShareSession, TakenRecord
from tidelog.testing.sim.clients.shares.sight import ShareSight
from tidelog.testing.sim.runtime.loop import SimLoop

BEAT_SECONDS = 0.4
WAIT_MS = 300
DELAYS_MS = (0, 50, 200, 700, 1500)

# How often a member does what with a record that it takes.
ACTS: dict[str, int] = {
    "accept": 50,
    "release": 9,
    "delay": 8,
    "reject": 7,
    "renew": 7,
    "forget": 7,
    "keep": 12,
}


class HeldRecord(NamedTuple):
    delivery: int
    address: Address
    wakes_at: float
    """A forgotten record is left alone until then."""
    is_gap: bool


class SimShareMember:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        shares: ShareHistory,
        sight: ShareSight,
        *,
        plan: ShareGroupPlan,
        topics: list[str],
    ) -> None:
        self._loop = loop
        self._client = client
        self._shares = shares
        self._sight = sight
        self.plan = plan
        self._topics = topics
        self._membership = ShareMembership(client, plan.group, topics)
        self._sessions: dict[Address, ShareSession] = {}
        self._session_numbers = count(1)
        self._held: dict[tuple[Place, int], HeldRecord] = {}
        self._done: list[PlannedAck] = []
        """Acknowledgements that were sent, to repeat."""
        self._next_beat = 0.0
        self._gone_complaints: list[str] = []
        self._is_greedy = client.chance.random() < 0.3
        """Takes as many records as it can, and lets them lie."""
        self.is_draining = False
        self.is_stopping = False

    @property
    def name(self) -> str:
        return self._client.name

    @property
    def complaints(self) -> list[str]:
        open_ones = [text for session in self._sessions.values() for text in session.complaints]
        return [*self._gone_complaints, *self._membership.complaints, *open_ones]

    async def run(self) -> None:
        await self._client.refresh(self._topics)
        while not self.is_stopping:
            try:
                if self._loop.now >= self._next_beat:
                    await self._membership.beat()
                    self._next_beat = self._loop.now + BEAT_SECONDS
                await self._step()
            except OSError:
                await self._client.pause()
                await self._client.refresh(self._topics)

    async def _step(self) -> None:
        chance = self._client.chance
        if not self.is_draining:
            odds = chance.random()
            if odds < 0.01:
                return await self._leave()
            if odds < 0.03:  # it hangs: its connections stay open, and its locks end
                return await asyncio.sleep(self.plan.lock_ms / 1000 * chance.choice((0.3, 1.1, 1.5)))
        by_leader = self._by_leader()
        if not by_leader or sum(map(len, by_leader.values())) < len(self._membership.places):
            await self._client.pause()
            await self._client.refresh(self._topics)
        self._drop_stale(by_leader)
        for address, places in by_leader.items():
            await self._serve(address, places, WAIT_MS // len(by_leader))
        return None

    def _by_leader(self) -> dict[Address, list[Place]]:
        by_leader: dict[Address, list[Place]] = {}
        for place in self._membership.places:
            led = self._client.leaders.get(place)
            address = self._client.brokers.get(led.leader) if led is not None else None
            if address is not None and place[0] in self._client.topic_ids:
                by_leader.setdefault(address, []).append(place)
        return by_leader

    def _drop_stale(self, by_leader: dict[Address, list[Place]]) -> None:
        """Another broker leads: it has no locks of this member."""
        here = {(address, place) for address, places in by_leader.items() for place in places}
        for key, held in list(self._held.items()):
            if (held.address, key[0]) not in here:
                del self._held[key]

    async def _serve(self, address: Address, places: list[Place], wait_ms: int) -> None:
        session = self._session(address)
        chance = self._client.chance
        acks = self._plan_acks(address) if session.is_open else []
        with_fetch = acks and not any(ack.type is AckType.RENEW for ack in acks) and chance.random() < 0.5
        if acks and not with_fetch:
            await self._send(session, acks)
        if session.is_open and not self.is_draining and chance.random() < 0.06:
            await self._misbehave(session, places)
        records_max = chance.choice((200, 500)) if self._is_greedy else chance.choice((1, 5, 20, 100))
        acks = acks if with_fetch and session.is_open else []  # it may have been lost meanwhile
        taken = await self._fetch(session, places, acks, wait_ms, records_max)
        for record in taken:
            self._hold(address, record)
        if not session.fine:
            await self._client.pause()
            await self._client.refresh(self._topics)

    async def _fetch(
        self,
        session: ShareSession,
        places: list[Place],
        acks: list[PlannedAck],
        wait_ms: int,
        records_max: int,
    ) -> list[TakenRecord]:
        exact = self._client.chance.random() < 0.4
        self._forget(acks)
        return await session.fetch(places, acks, wait_ms=wait_ms, records_max=records_max, exact=exact)

    async def _send(self, session: ShareSession, acks: list[PlannedAck]) -> None:
        self._forget(acks)
        await session.acknowledge(acks)

    def _forget(self, acks: list[PlannedAck]) -> None:
        """Whatever the answer says: these records are not this member's any more."""
        self._done = [*self._done, *acks][-20:]
        for ack in acks:
            if ack.type is not AckType.RENEW:
                self._held.pop((ack.place, ack.offset), None)

    def _hold(self, address: Address, record: TakenRecord) -> None:
        wakes_at = 0.0
        if not self.is_draining and not record.is_gap and self._client.chance.random() < ACTS["forget"] / 100:
            wakes_at = self._loop.now + self.plan.lock_ms / 1000 * self._client.chance.choice((0.9, 1.2, 2.0))
        self._held[record.place, record.offset] = HeldRecord(
            record.delivery, address, wakes_at, record.is_gap
        )

    # Acknowledging

    def _plan_acks(self, address: Address) -> list[PlannedAck]:
        acks: list[PlannedAck] = []
        keeps_all = self._is_greedy and not self.is_draining and self._client.chance.random() < 0.7
        act = self._act()
        for (place, offset), held in self._held.items():
            if held.address != address or (held.wakes_at > self._loop.now and not self.is_draining):
                continue
            if self._client.chance.random() < 0.3:
                act = self._act()  # neighbours often meet the same fate
            if held.is_gap:
                acks.append(PlannedAck(place, offset, AckType.GAP, held.delivery))
            elif not keeps_all and (ack := self._ack(act, place, offset, held)) is not None:
                acks.append(ack)
        return acks

    def _act(self) -> str:
        if self.is_draining:
            return "accept"
        return self._client.chance.choices(list(ACTS), list(ACTS.values()))[0]

    def _ack(self, act: str, place: Place, offset: int, held: HeldRecord) -> PlannedAck | None:
        match act:
            case "accept" | "forget":
                return PlannedAck(place, offset, AckType.ACCEPT, held.delivery)
            case "release":
                return PlannedAck(place, offset, AckType.RELEASE, held.delivery)
            case "delay":
                delay_ms = self._client.chance.choice(DELAYS_MS)
                return PlannedAck(place, offset, AckType.RELEASE, held.delivery, delay_ms)
            case "reject":
                return PlannedAck(place, offset, AckType.REJECT, held.delivery)
            case "renew":
                return PlannedAck(place, offset, AckType.RENEW, held.delivery)
        return None

    async def _misbehave(self, session: ShareSession, places: list[Place]) -> None:
        """Acknowledge twice, or what another member has, in a request that is refused as a whole."""
        chance = self._client.chance
        if self._done and chance.random() < 0.5:
            ack = chance.choice(self._done)
            again = ack._replace(type=chance.choice((AckType.ACCEPT, AckType.RELEASE)), delivery=NOT_HELD)
            if ack.place in places and (ack.place, ack.offset) not in self._held:
                await session.acknowledge([again])
            return
        place = chance.choice(places)
        mine = [offset for held, offset in self._held if held == place]
        offset = max(0, max(mine, default=chance.randrange(30)) + chance.randint(1, 8))
        if (place, offset) not in self._held:
            type = chance.choice((AckType.ACCEPT, AckType.REJECT, AckType.RELEASE, AckType.RENEW))
            await session.acknowledge([PlannedAck(place, offset, type, NOT_HELD)])

    # Coming and going

    def _session(self, address: Address) -> ShareSession:
        session = self._sessions.get(address)
        if session is None:
            session = self._sessions[address] = ShareSession(
                self._loop,
                self._client,
                self._shares,
                self._sight,
                group=self.plan.group,
                member_id=self._membership.member_id,
                address=address,
                numbers=self._session_numbers,
            )
        return session

    async def _leave(self) -> None:
        """Most members say goodbye to the leaders, too."""
        sessions, self._sessions = self._sessions, {}
        self._held.clear()
        self._done.clear()
        for session in sessions.values():
            self._gone_complaints += session.complaints
        if self._client.chance.random() < 0.7:
            for session in sessions.values():
                if session.is_open:
                    await session.close()
        self._next_beat = 0.0
        await self._membership.leave()
        await self._client.pause()
