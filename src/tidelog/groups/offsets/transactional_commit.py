"""TxnOffsetCommit: how far a group is, as part of the transaction that holds what came of it (KIP-447)."""

from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ProducerId
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision, TransactionWriter
from tidelog.groups.group import Group, GroupKind
from tidelog.groups.offsets.commit import CommitAnswer, all_refused, write_offsets
from tidelog.groups.offsets.messages import CommitRequest
from tidelog.groups.step import Step

LATEST_COMMIT_VERSION = 10


class TransactionalCommit(NamedTuple):
    commit: CommitRequest
    producer_id: ProducerId
    producer_epoch: int


def commit(step: Step, group: Group | None, request: TransactionalCommit) -> ShardDecision[CommitAnswer]:
    try:
        _accept(step, group, request.commit)
    except KafkaError as refusal:
        return ShardDecision(Pending.ready(all_refused(request.commit, refusal.code)))
    decision = write_offsets(step, request.commit)
    decision.writer = TransactionWriter(request.producer_id, request.producer_epoch)
    return decision


def _accept(step: Step, group: Group | None, request: CommitRequest) -> None:
    """A zombie of the group is refused even where its transaction is not fenced yet."""
    generation = request.generation_id_or_member_epoch
    takes_offsets = group is None or group.kind is not GroupKind.SHARE
    if takes_offsets and generation < 0 and not request.member_id and request.group_instance_id is None:
        return  # clients from before KIP-447 do not say
    if group is None:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    try:
        group.accept_commit(step, request._replace(api_version=LATEST_COMMIT_VERSION))
    except KafkaError as refusal:
        if refusal.code is ErrorCode.STALE_MEMBER_EPOCH:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION) from refusal
        if refusal.code is not ErrorCode.REBALANCE_IN_PROGRESS:  # producers take no part in rebalances
            raise
