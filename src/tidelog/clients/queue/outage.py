"""What an application is told while its queue reaches no coordinator: it tries again, but says so in time."""

SAID_AFTER_S = 10.0


class Outage:
    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._since: float | None = None
        self._is_said = False

    def failed(self, error: Exception, now: float) -> str | None:
        """Returns what to warn of, once in an outage."""
        if self._since is None:
            self._since = now
        if self._is_said or now - self._since < SAID_AFTER_S:
            return None
        self._is_said = True
        return (
            f"group {self._group_id}: no heartbeat was answered for {now - self._since:.0f} s. Until one is, "
            f"no job comes, and jobs that were taken may go to other workers: {error}"
        )

    def passed(self) -> str | None:
        """Returns what to say of an outage that was warned of."""
        was_said, self._is_said, self._since = self._is_said, False, None
        return f"group {self._group_id}: heartbeats are answered again" if was_said else None
