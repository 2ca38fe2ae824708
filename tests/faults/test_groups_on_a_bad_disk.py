"""A partition of `__consumer_offsets` whose disk fails: nobody waits for ever, nor reads what may be lost."""

from group_calls import commit, wait_for_coordinator
from log_calls import create_topic
from node_thread import NodeThread
from odd_requests import E

from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

BY_NAME = 9


def test_offsets_that_could_not_be_synced_are_not_shown_and_nobody_waits() -> None:
    with NodeThread(durability="fsync", offsets_topic_num_partitions=1) as node:
        with node.connect() as client:
            create_topic(client, "t")
            wait_for_coordinator(client, "readers")
            commit(client, "readers", "t", {0: (5, None)})
            node.disk.fail("sync", "/data/__consumer_offsets-0")
            commit(client, "readers", "t", {0: (7, None)})
            for _ in range(2):
                asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="readers", topics=None)])
                [found] = client.ask(ApiKey.OFFSET_FETCH, asked, BY_NAME).groups
                assert E(found.error_code) is E.NOT_COORDINATOR
                assert not found.topics
            client.send_request(ApiKey.OFFSET_FETCH, BY_NAME, asked)
        node.stop()
        node.disk.heal()
        node.start()
