"""A transactional producer: a few sends to several partitions that are committed together, or taken back.

A process that takes the place of a dead one uses the same transactional id, which ends what was left open.
"""

import asyncio

from tidelog.testing.history import History, Operation, Outcome, Sent
from tidelog.testing.sim.client import Client
from tidelog.testing.sim.loop import SimLoop
from tidelog.testing.sim.transactional_client import GaveUp, TransactionalClient


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
    ) -> None:
        self._loop = loop
        self._client = client
        self._history = history
        self._partitions = [(name, index) for name, count in topics.items() for index in range(count)]
        self.transactional_id = transactional_id
        self._transactions = TransactionalClient(
            loop, client, transactional_id, second_protocol=second_protocol
        )
        self._next_value = 0
        self.complaints: list[str] = []
        self.is_stopping = False

    async def run(self) -> None:
        while not self.is_stopping:
            await asyncio.sleep(self._client.chance.uniform(0.05, 0.5))
            try:
                if self._transactions.has_identity:
                    await self._transact()
                else:
                    await self._transactions.begin()
            except GaveUp:
                self._transactions.lose_identity()

    async def _transact(self) -> None:
        chance = self._client.chance
        operation = self._history.add(
            Operation(self._client.name, "txn", Outcome.INFO, started=self._loop.now)
        )
        wants_commit = chance.random() < 0.85
        try:
            for _ in range(chance.randint(1, 4)):
                await self._send(operation, chance.choice(self._partitions))
        except GaveUp as failure:
            operation.error = str(failure)
            wants_commit = False
        await end_recorded(self._transactions, operation, commit=wants_commit, loop=self._loop)
        if operation.error:
            # Nobody knows which sequence numbers were used: only a new epoch begins them anew.
            self._transactions.lose_identity()

    async def _send(self, operation: Operation, place: tuple[str, int]) -> None:
        count = self._client.chance.choice((1, 1, 2))
        values = [f"{self._client.name}-{self._next_value + number}" for number in range(count)]
        self._next_value += count
        sent = [Sent(f"{place[0]}-{place[1]}", value) for value in values]
        operation.sent += sent
        offset = await self._transactions.write(place, values)
        if offset >= 0:
            for number, one in enumerate(sent):
                one.offset = offset + number


async def end_recorded(
    transactions: TransactionalClient, operation: Operation, *, commit: bool, loop: SimLoop
) -> None:
    """End the transaction, and tell the history how it ended as far as that is known."""
    if not commit:
        operation.outcome = Outcome.FAIL  # whatever becomes of the abort: nobody ever asks for a commit
    try:
        await transactions.end(commit=commit)
        if commit:
            operation.outcome = Outcome.OK
    except GaveUp as failure:
        operation.error = operation.error or str(failure)
        if not failure.maybe_done:
            operation.outcome = Outcome.FAIL
        raise
    finally:
        operation.ended = loop.now
