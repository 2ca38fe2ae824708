"""Transactions, at their coordinator."""

from tidelog.metrics.family import counter, gauge

TRANSACTIONS = gauge(
    "tidelog_transactions", "Transactional ids that this broker coordinates, by state.", "state"
)
ENDED = counter(
    "tidelog_transactions_ended_total", "Transactions that ended: committed, aborted or timed_out.", "outcome"
)
OLDEST_OPEN_SECONDS = gauge(
    "tidelog_transaction_oldest_open_seconds",
    "The age of the oldest open transaction that this broker coordinates.",
)
MARKERS_WAITING = gauge(
    "tidelog_transaction_markers_waiting",
    "Ended transactions whose markers are not in every partition yet.",
    kafka="kafka.server:type=TransactionMarkerChannelManager,name=UnknownDestinationQueueSize",
)
PRODUCERS = gauge(
    "tidelog_producer_ids",
    "Producer ids that this broker's logs remember.",
    kafka="kafka.server:type=ReplicaManager,name=ProducerIdCount",
)
