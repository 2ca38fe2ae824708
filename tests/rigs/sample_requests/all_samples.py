"""All samples."""

from tests.rigs.sample_requests import (
    acls,
    between_brokers,
    cluster,
    groups,
    records,
    shares,
    topics,
    transactions,
    users,
)
from tests.rigs.sample_requests.sample import Sample

SAMPLES: list[Sample] = [
    *between_brokers.SAMPLES,
    *between_brokers.STATE_SAMPLES,
    *cluster.SAMPLES,
    *groups.SAMPLES,
    *transactions.SAMPLES,
    *acls.SAMPLES,
    *users.SAMPLES,
    *records.SAMPLES,
    *shares.SAMPLES,
    *topics.SAMPLES,
]
