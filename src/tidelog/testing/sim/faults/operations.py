"""What operators do while everything else goes on: move replicas, elect leaders, change who votes."""

from typing import Any

from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.faults.world import World
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.add_raft_voter import AddRaftVoterRequest
from tidelog.wire.messages.add_raft_voter import Listener as VoterListener
from tidelog.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tidelog.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tidelog.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

REASSIGN_VERSION, ELECT_VERSION, ADD_VOTER_VERSION, REMOVE_VOTER_VERSION = 0, 2, 0, 0
PORT = 9092


async def ask(world: World, api_key: ApiKey, version: int, request: Message) -> Any:
    """None where no answer comes: an operator shrugs and tries something else."""
    try:
        return await world.operator.call_any(api_key, version, request, 3.0)
    except OSError:
        return None


async def reassign(world: World) -> None:
    """A partition gets other replicas, or the same in another order, or the move is called off."""
    scenario = world.cluster.scenario
    topic = world.chance.choice(list(scenario.movable))
    index = world.chance.randrange(scenario.movable[topic])
    ids = [machine.id for machine in world.cluster.machines]
    replicas = world.chance.sample(ids, scenario.replicas) if world.chance.random() < 0.85 else None
    world.cluster.note(f"{topic}-{index} moves to {replicas}")
    request = reassignment(topic, index, replicas)
    await ask(world, ApiKey.ALTER_PARTITION_REASSIGNMENTS, REASSIGN_VERSION, request)


async def drain(world: World) -> None:
    """A broker gives up all its replicas, as before it is taken out of the cluster."""
    machine = world.victim()
    controllers = [view for view in views(world.cluster) if view.is_controller]
    others = [one.id for one in world.cluster.machines if one is not machine]
    if not controllers or len(others) < world.cluster.scenario.replicas:
        return
    world.cluster.note(f"{machine.host} is drained")
    for topic, partition in list(controllers[0].image.partitions()):
        spare = [id for id in others if id not in partition.replicas]
        if machine.id in partition.replicas and spare:  # while it moves, it may be everywhere
            replicas = [id for id in partition.replicas if id != machine.id]
            replicas.insert(world.chance.randrange(len(replicas) + 1), world.chance.choice(spare))
            request = reassignment(topic.name, partition.index, replicas)
            await ask(world, ApiKey.ALTER_PARTITION_REASSIGNMENTS, REASSIGN_VERSION, request)


def reassignment(topic: str, index: int, replicas: list[int] | None) -> AlterPartitionReassignmentsRequest:
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    return AlterPartitionReassignmentsRequest(
        timeout_ms=2_000, topics=[ReassignableTopic(name=topic, partitions=[partition])]
    )


async def elect(world: World) -> None:
    """The preferred leaders."""
    topics = [
        TopicPartitions(topic=name, partitions=list(range(count)))
        for name, count in world.cluster.scenario.movable.items()
    ]
    world.cluster.note("preferred leaders are elected")
    request = ElectLeadersRequest(election_type=0, topic_partitions=topics, timeout_ms=2_000)
    await ask(world, ApiKey.ELECT_LEADERS, ELECT_VERSION, request)


async def voters(world: World) -> None:
    """One loses its vote, and gets it back."""
    machine = world.victim()
    world.cluster.note(f"{machine.host} loses its vote")
    removal = RemoveRaftVoterRequest(voter_id=machine.id)
    await ask(world, ApiKey.REMOVE_RAFT_VOTER, REMOVE_VOTER_VERSION, removal)
    await world.some_time(2.0)
    world.cluster.note(f"{machine.host} gets a vote")
    where = VoterListener(name="PLAINTEXT", host=machine.host, port=PORT)
    addition = AddRaftVoterRequest(voter_id=machine.id, listeners=[where], timeout_ms=2_000)
    await ask(world, ApiKey.ADD_RAFT_VOTER, ADD_VOTER_VERSION, addition)
