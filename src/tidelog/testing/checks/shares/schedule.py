"""Checks of time: a scheduled record is not early, and neither is a released one that has to wait."""

from collections.abc import Iterator

from tidelog.shares.states import AckType
from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.shares.seen import RecordedAck, SharesSeen, is_of_older_leader
from tidelog.testing.share_history import ShareGroupPlan


def early_deliveries(seen: SharesSeen) -> Iterator[Anomaly]:
    for key, deliveries in seen.deliveries.items():
        for delivery in deliveries:
            sent = seen.observed.sent.get(delivery.taken.value)
            due_ms = 0 if sent is None else sent.due_ms
            if delivery.take.clock_ms < due_ms:
                early_ms = due_ms - delivery.take.clock_ms
                yield Anomaly("early delivery", f"{key}: {delivery} came {early_ms} ms before its time")


def early_retries(seen: SharesSeen) -> Iterator[Anomaly]:
    for key, acks in seen.acks.items():
        plan = seen.plans[key.group]
        for recorded in acks:
            if not recorded.is_ok or recorded.ack.type != AckType.RELEASE:
                continue
            due_ms = recorded.request.clock_ms + _wait_ms(recorded, plan)
            for delivery in seen.deliveries.get(key, ()):
                is_later = delivery.take.started > recorded.request.ended
                if is_of_older_leader(delivery, recorded):
                    continue
                if is_later and delivery.take.clock_ms < due_ms:
                    early_ms = due_ms - delivery.take.clock_ms
                    yield Anomaly(
                        "early retry", f"{key}: after {recorded} {delivery} came {early_ms} ms early"
                    )


def _wait_ms(recorded: RecordedAck, plan: ShareGroupPlan) -> int:
    """What the member asked for, or the group's backoff, which doubles with each delivery."""
    if recorded.ack.delay_ms >= 0:
        return recorded.ack.delay_ms
    return min(plan.backoff_ms << max(0, recorded.ack.count - 1), plan.backoff_max_ms or plan.backoff_ms)
