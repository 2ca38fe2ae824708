"""Changes of the voters of the metadata quorum: one voter added or removed at a time."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId, Offset, Uuid
from tidelog.base.voters import parse_address
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.raft.entries import Configuration, Voter
from tidelog.raft.errors import ChangeRefused, NotLeader

AGREE_SECONDS = 30.0


class Voters:
    def __init__(self, metadata: MetadataService) -> None:
        self._metadata = metadata

    def check_cluster(self, cluster_id: str | None) -> None:
        ours = self._metadata.image.cluster_id
        if cluster_id and cluster_id != ours:
            raise KafkaError(
                ErrorCode.INCONSISTENT_CLUSTER_ID, f"This is cluster {ours}, the request is for {cluster_id}."
            )

    async def add(self, id: NodeId, address: str, directory: Uuid | None, *, wait: bool) -> None:
        known = self._configuration.find(id)
        if known is not None and not known.vacant and (directory is None or known.storage == directory):
            raise KafkaError(ErrorCode.DUPLICATE_VOTER, f"Node {id} is a voter already.")
        try:
            parse_address(address)
        except ValueError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error
        await self._change(self._configuration.with_voter(Voter(id, address, directory)), wait=wait)

    async def remove(self, id: NodeId, directory: Uuid | None) -> None:
        known = self._configuration.find(id)
        if known is None or (directory is not None and known.storage not in (None, directory)):
            raise KafkaError(ErrorCode.VOTER_NOT_FOUND, f"Node {id} is not a voter.")
        if len(self._configuration.voters) == 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The last voter cannot be removed.")
        await self._change(self._configuration.without(id), wait=True)

    @property
    def _configuration(self) -> Configuration:
        return self._metadata.quorum.raft.configuration

    async def _change(self, wanted: Configuration, *, wait: bool) -> None:
        quorum = self._metadata.quorum
        try:
            index = await quorum.do(lambda: quorum.raft.change_voters(wanted, quorum.now))
        except ChangeRefused as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error
        except NotLeader as error:
            raise KafkaError(ErrorCode.NOT_CONTROLLER) from error
        if wait:
            await self._until_agreed(index, wanted)

    async def _until_agreed(self, index: Offset, wanted: Configuration) -> None:
        try:
            async with asyncio.timeout(AGREE_SECONDS):
                await self._metadata.until(index)
        except TimeoutError as error:
            raise KafkaError(
                ErrorCode.REQUEST_TIMED_OUT, "The change of voters is not committed yet; it may still be."
            ) from error
        if {voter.id for voter in wanted.voters} != {voter.id for voter in self._configuration.voters}:
            # Another controller took over, and committed another entry at this index.
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
