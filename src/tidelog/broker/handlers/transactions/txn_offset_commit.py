"""TxnOffsetCommit: how far a group is, committed or aborted with a producer's transaction."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH
from tidelog.broker.coordinators.transaction_verification import error_for_writer
from tidelog.broker.handlers.transactions.permissions import check_transactional_id
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.producer_owner import is_own_producer, verify_open
from tidelog.groups.offsets.commit import CommitAnswer, all_refused
from tidelog.groups.offsets.messages import CommitPartition, CommitRequest, CommitTopic
from tidelog.groups.offsets.transactional_commit import TransactionalCommit
from tidelog.metadata.topics.names import CONSUMER_OFFSETS
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.transactions.transaction import Identity, TopicPartition
from tidelog.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

FIRST_THAT_ADDS = 5
FIRST_THAT_KNOWS_ABORTABLE = 4
NO_SEQUENCE = -1


async def handle(context: Context, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    wanted = _wanted(request)
    image = context.services.metadata.image
    known: list[CommitTopic] = []
    found: dict[tuple[str, int], ErrorCode] = {}
    try:
        check_transactional_id(context, request.transactional_id)
        if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    except KafkaError as refusal:
        answer = all_refused(wanted, refusal.code)
    else:
        for topic in wanted.topics:
            if context.allows(Operation.READ, ResourceType.TOPIC, topic.name):
                partitions = [one for one in topic.partitions if image.partition(topic.name, one[0])]
                known.append(CommitTopic(topic.name, partitions))
            else:
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                found.update(((topic.name, one[0]), code) for one in topic.partitions)
        answer = await _commit(context, request, wanted._replace(topics=known))
    found.update(
        ((topic.name, one.partition_index), one.error) for topic in answer for one in topic.partitions
    )
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=one.partition_index,
                        error_code=found.get(
                            (topic.name, one.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                        ),
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _commit(context: Context, request: TxnOffsetCommitRequest, wanted: CommitRequest) -> CommitAnswer:
    services = context.services
    producer = Identity(request.producer_id, request.producer_epoch)
    try:
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        served = services.groups.of(request.group_id)
        now_ms = services.clock.now_ms()
        adds = context.version >= FIRST_THAT_ADDS
        guard = served.partition.log.producer_state.begin_verification(
            *producer, NO_SEQUENCE, now_ms, ends_raise_epoch=adds
        )
        if guard is not None or not is_own_producer(context, request.transactional_id, producer):
            await _verify(context, request, producer, is_open=guard is None)
            served = services.groups.of(request.group_id)  # it may have moved meanwhile
    except KafkaError as refusal:
        return all_refused(wanted, refusal.code)
    commit = TransactionalCommit(wanted, *producer)
    decision = served.shard.commit_in_transaction(commit, *served.now)
    return await served.run(decision, lambda answer: answer, guard)


async def _verify(
    context: Context, request: TxnOffsetCommitRequest, producer: Identity, *, is_open: bool
) -> None:
    services = context.services
    adds = context.version >= FIRST_THAT_ADDS
    where = TopicPartition(CONSUMER_OFFSETS, services.groups.partition_of(request.group_id))
    if is_open:
        error = await verify_open(context, request.transactional_id, producer, where)
    elif adds or services.config.bool("transaction.partition.verification.enable"):
        verdicts = await services.verification.verify(request.transactional_id, producer, (where,), add=adds)
        error = verdicts[where]
    else:
        return
    if error is not ErrorCode.NONE:
        code = error_for_writer(
            error, knows_abortable=context.version >= FIRST_THAT_KNOWS_ABORTABLE, adds=adds
        )
        # Clients of this request know what to do about coordinators.
        raise KafkaError(
            ErrorCode.COORDINATOR_NOT_AVAILABLE if code is ErrorCode.NOT_ENOUGH_REPLICAS else code
        )


def _wanted(request: TxnOffsetCommitRequest) -> CommitRequest:
    topics = [
        CommitTopic(
            topic.name,
            [
                CommitPartition(
                    one.partition_index,
                    one.committed_offset,
                    max(one.committed_leader_epoch, NO_EPOCH),
                    one.committed_metadata,
                )
                for one in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return CommitRequest(
        request.group_id, topics, request.generation_id, request.member_id, request.group_instance_id
    )
