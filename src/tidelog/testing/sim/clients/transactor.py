"""A transactional producer: a few sends to several partitions that are committed together, or taken back.

A process that takes the place of a dead one uses the same transactional id, which ends what was left open.
"""

import asyncio

from tidelog.testing.history import Completion, History, Operation, Sent
from tidelog.testing.sim.clients.client import Client
from tidelog.testing.sim.clients.transactional_client import LookUp, TransactionalClient, TransactionGaveUp
from tidelog.testing.sim.runtime.loop import SimLoop


class Transactor:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        history: History,
        *,
        topics: dict[str, int],
        transactional_id: str,
        second_protocol: bool,
        look_up: LookUp,
    ) -> None:
        self._loop = loop
        self._client = client
        self._history = history
        self._partitions = [(name, index) for name, count in topics.items() for index in range(count)]
        self.transactional_id = transactional_id
        self._transactions = TransactionalClient(
            loop, client, transactional_id, second_protocol=second_protocol, look_up=look_up
        )
        self._next_value = 0
        self._fickleness = client.chance.choice((0.0, 0.1, 0.6))
        self.is_stopping = False
        self.committed = 0
        """Transactions, so far."""

    @property
    def complaints(self) -> list[str]:
        return self._transactions.complaints

    async def run(self) -> None:
        while not self.is_stopping:
            await asyncio.sleep(self._client.chance.choice((0.0, 0.05, 0.2, 0.5)))
            try:
                if self._transactions.has_identity:
                    await self._transact()
                else:
                    await self._transactions.begin()
            except TransactionGaveUp:
                self._transactions.lose_identity()

    async def _transact(self) -> None:
        chance = self._client.chance
        operation = self._history.add(
            Operation(self._client.name, "txn", Completion.INFO, started=self._loop.now)
        )
        changes_its_mind = chance.random() < self._fickleness
        wants_commit = not changes_its_mind and chance.random() < 0.85
        try:
            for number in range(chance.randint(0 if changes_its_mind else 1, 4)):
                if number and chance.random() < 0.5:
                    await asyncio.sleep(chance.uniform(0.0, 0.3))
                await self._send(operation, chance.choice(self._partitions))
            if changes_its_mind:
                operation.error = "changed its mind"
                await self._send_and_leave(operation)
        except TransactionGaveUp as failure:
            operation.error = str(failure)
            wants_commit = False
        await end_recorded(self._transactions, operation, commit=wants_commit, loop=self._loop)
        self.committed += wants_commit
        if operation.error and not self._transactions.second_protocol:
            # It is unknown which sequence numbers were used: only a new epoch begins them anew. In the second
            # protocol the end of the transaction has brought one.
            self._transactions.lose_identity()

    async def _send(self, operation: Operation, place: tuple[str, int]) -> None:
        sent = [self._new(operation, place) for _ in range(self._client.chance.choice((1, 1, 1, 2, 3)))]
        offsets = await self._transactions.write(place, *([one.value for one in some] for some in sent))
        for some, offset in zip(sent, offsets, strict=True):
            if offset >= 0:
                for number, one in enumerate(some):
                    one.offset = offset + number

    async def _send_and_leave(self, operation: Operation) -> None:
        """To all partitions at once; the transaction is taken back while these batches are under way."""
        for place in self._partitions:
            await self._transactions.join(place)
        writing = [
            asyncio.ensure_future(
                self._transactions.write(place, [one.value for one in self._new(operation, place)])
            )
            for place in self._partitions
        ]
        await asyncio.sleep(self._client.chance.choice((0.002, 0.005, 0.02)))
        for one in writing:
            one.cancel()
        await asyncio.gather(*writing, return_exceptions=True)

    def _new(self, operation: Operation, place: tuple[str, int]) -> list[Sent]:
        """The records of one batch."""
        count = self._client.chance.choice((1, 1, 2))
        values = [f"{self._client.name}-{self._next_value + number}" for number in range(count)]
        self._next_value += count
        sent = [Sent(f"{place[0]}-{place[1]}", value) for value in values]
        operation.sent += sent
        return sent


async def end_recorded(
    transactions: TransactionalClient, operation: Operation, *, commit: bool, loop: SimLoop
) -> None:
    """End the transaction, and tell the history how it ended as far as that is clear."""
    if not commit:
        operation.outcome = Completion.FAIL  # whatever becomes of the abort: no client ever asks for a commit
    try:
        await transactions.end(commit=commit)
        if commit:
            operation.outcome = Completion.OK
    except TransactionGaveUp as failure:
        operation.error = operation.error or str(failure)
        if not failure.maybe_done:
            operation.outcome = Completion.FAIL
        raise
    finally:
        operation.ended = loop.now
