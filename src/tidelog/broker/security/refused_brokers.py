"""Says in the log which principals are refused as brokers: such a broker waits, and Raft cannot tell it why.

A broker tries again several times a second, and so may any client: each principal gets a line a minute.
"""

import logging

AGAIN_SECONDS = 60.0
PRINCIPALS_MAX = 100
"""Remembered: beyond that all are forgotten."""

log = logging.getLogger("tidelog.broker.security")


class RefusedBrokers:
    def __init__(self) -> None:
        self._logged_at: dict[tuple[str, str], float] = {}

    def warn(self, principal: str, host: str, now: float) -> None:
        who = principal, host
        last = self._logged_at.get(who)
        if last is not None and now - last < AGAIN_SECONDS:
            return
        if len(self._logged_at) >= PRINCIPALS_MAX:
            self._logged_at.clear()
        self._logged_at[who] = now
        log.warning(
            "%s from %s acts as a broker and is refused: it lacks CLUSTER_ACTION on the cluster. If it is a "
            "broker of this cluster, name %s in super.users of all brokers",
            *(principal, host, principal),
        )
