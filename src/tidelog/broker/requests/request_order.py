"""Which requests of one connection may be under way at the same time.

Kafka serves a connection's requests one after the other, and clients count on it: a request sees what those
before it did. Produce and Fetch overlap here nonetheless, since a producer with many requests under way
shares one sync among them, and none of them depends on what another one did. OffsetCommits overlap with each
other, and with nothing else: the coordinator decides them in the order in which they come, and writes many as
one batch. Every other request begins once all before it are complete, and none behind it begins before it is
complete itself. Its answer could not leave any sooner in either case, because answers keep the order of the
requests. ShareFetch is such a request, too: a fetch that waits must not acquire records once a request behind
it has ended its share session.

Requests between brokers are independent of each other: lanes keep apart what must not wait (`broker/peers`).
"""

from tidelog.broker.requests.forwarding import BETWEEN_BROKERS, SHARE_STATE
from tidelog.wire.apis import ApiKey

OVERLAPPING = BETWEEN_BROKERS | SHARE_STATE | {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.WRITE_TXN_MARKERS}
ADD_PARTITIONS_OF_BROKERS = (
    4  # AddPartitionsToTxn since this version: sent by a broker, for many clients at once
)

ALONE, INDEPENDENT, COMMITS = range(3)

_GROUPS = {int(key): INDEPENDENT for key in OVERLAPPING} | {int(ApiKey.OFFSET_COMMIT): COMMITS}
_ADD_PARTITIONS = int(ApiKey.ADD_PARTITIONS_TO_TXN)


def overlap_group(frame: memoryview) -> int:
    """Requests of the same group may be under way together, but for those that stand ALONE.

    So does a frame that is no request.
    """
    if len(frame) < 4:
        return ALONE
    key = frame[0] << 8 | frame[1]
    if key == _ADD_PARTITIONS:
        return INDEPENDENT if frame[2] << 8 | frame[3] >= ADD_PARTITIONS_OF_BROKERS else ALONE
    return _GROUPS.get(key, ALONE)
