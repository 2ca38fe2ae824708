"""The persister of a broker, made with its first request: a broker without share groups has none."""

from typing import TYPE_CHECKING

from tidelog.broker.coordinators.share_states import ShareStates
from tidelog.broker.peers.peers import Peers

if TYPE_CHECKING:
    from tidelog.broker.shares.persister import SharePersister
    from tidelog.wire.messages import delete_share_group_state as deleting
    from tidelog.wire.messages import initialize_share_group_state as initializing
    from tidelog.wire.messages import read_share_group_state as reading
    from tidelog.wire.messages import read_share_group_state_summary as summing
    from tidelog.wire.messages import write_share_group_state as writing


class LazyPersister:
    def __init__(self, states: ShareStates, peers: Peers) -> None:
        self._states = states
        self._peers = peers
        self._persister: SharePersister | None = None

    @property
    def _made(self) -> "SharePersister":
        if self._persister is None:
            from tidelog.broker.shares.persister import SharePersister

            self._persister = SharePersister(self._states, self._peers)
        return self._persister

    async def initialize(
        self, request: "initializing.InitializeShareGroupStateRequest"
    ) -> "initializing.InitializeShareGroupStateResponse":
        return await self._made.initialize(request)

    async def read(
        self, request: "reading.ReadShareGroupStateRequest"
    ) -> "reading.ReadShareGroupStateResponse":
        return await self._made.read(request)

    async def write(
        self, request: "writing.WriteShareGroupStateRequest"
    ) -> "writing.WriteShareGroupStateResponse":
        return await self._made.write(request)

    async def delete(
        self, request: "deleting.DeleteShareGroupStateRequest"
    ) -> "deleting.DeleteShareGroupStateResponse":
        return await self._made.delete(request)

    async def read_summary(
        self, request: "summing.ReadShareGroupStateSummaryRequest"
    ) -> "summing.ReadShareGroupStateSummaryResponse":
        return await self._made.read_summary(request)

    async def close(self) -> None:
        if self._persister is not None:
            await self._persister.close()
