"""All samples."""

from tests.rigs.sample_requests import (
    acls,
    between_brokers,
    cluster,
    groups,
    records,
    topics,
    transactions,
    users,
)
from tests.rigs.sample_requests.sample import Sample

SAMPLES: list[Sample] = [
    *between_brokers.SAMPLES,
    *cluster.SAMPLES,
    *groups.SAMPLES,
    *transactions.SAMPLES,
    *acls.SAMPLES,
    *users.SAMPLES,
    *records.SAMPLES,
    *topics.SAMPLES,
]
