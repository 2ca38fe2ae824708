"""Which requests of one connection may be under way at the same time.

Kafka serves a connection's requests one after the other, and clients count on it: a request sees what those
before it did. Produce and Fetch overlap here nonetheless, since a producer with many requests under way
shares one sync among them, and none of them depends on what another one did. Every other request begins once
all before it are complete, and none behind it begins before it is complete itself. Its answer could not leave
any sooner in either case, because answers keep the order of the requests. ShareFetch is such a request, too:
a fetch that waits must not acquire records once a request behind it has ended its share session.

Requests between brokers are independent of each other: lanes keep apart what must not wait (`broker/peers`).
"""

from tidelog.broker.requests.forwarding import BETWEEN_BROKERS, SHARE_STATE
from tidelog.wire.apis import ApiKey

OVERLAPPING = BETWEEN_BROKERS | SHARE_STATE | {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.WRITE_TXN_MARKERS}
ADD_PARTITIONS_OF_BROKERS = (
    4  # AddPartitionsToTxn since this version: sent by a broker, for many clients at once
)

_OVERLAPPING = frozenset(int(key) for key in OVERLAPPING)
_ADD_PARTITIONS = int(ApiKey.ADD_PARTITIONS_TO_TXN)


def may_overlap(frame: memoryview) -> bool:
    """Returns whether this request may be under way together with others of which the same is true.

    False for a frame that is no request.
    """
    if len(frame) < 4:
        return False
    key = frame[0] << 8 | frame[1]
    if key == _ADD_PARTITIONS:
        return frame[2] << 8 | frame[3] >= ADD_PARTITIONS_OF_BROKERS
    return key in _OVERLAPPING
