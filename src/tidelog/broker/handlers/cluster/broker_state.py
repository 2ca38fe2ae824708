"""DescribeBrokerState: what only the broker knows of itself: its clock, health, open files, damage.

`tidelog doctor` asks every broker for it. The clock is read last, so that the client can compare clocks.
"""

import os
import resource

import tidelog
from tidelog.base.errors import ErrorCode
from tidelog.broker.health import Health
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.describe_broker_state import (
    DamagedPartition,
    DescribeBrokerStateRequest,
    DescribeBrokerStateResponse,
)

DAMAGED_MAX = 1_000
OPEN_FILES = "/proc/self/fd"


async def handle(context: Context, request: DescribeBrokerStateRequest) -> DescribeBrokerStateResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        return DescribeBrokerStateResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    health = Health.of(services)
    live, ready = health.live(), health.ready()
    damaged = services.partitions.damage()
    named = max(0, min(request.damaged_max, DAMAGED_MAX))
    open_files: int = await services.run_in_thread(count_open_files)
    return DescribeBrokerStateResponse(
        broker_id=services.metadata.node_id,
        software_version=tidelog.__version__,
        live=live.ok,
        ready=ready.ok,
        reasons=list(ready.reasons),
        notes=list(ready.notes),
        open_files=open_files,
        open_files_max=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        recovered_logs=services.partitions.recovered_logs,
        damaged_total=len(damaged),
        damaged=[
            DamagedPartition(topic=topic, partition=index, reason=reason)
            for (topic, index), reason in sorted(damaged.items())[:named]
        ],
        now_ms=services.clock.now_ms(),
    )


def count_open_files() -> int:
    """-1 where the system does not say."""
    try:
        return len(os.listdir(OPEN_FILES)) - 1  # to list them opens one
    except OSError:
        return -1
