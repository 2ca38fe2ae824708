"""What brokers log during a run: kept for the story of a failure, and a failure where code was surprised."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.base.errors import TidelogError
from tidelog.testing.sim.cluster.cluster import SimCluster


class _Lines(logging.Handler):
    def __init__(self, cluster: SimCluster, problems: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._cluster = cluster
        self._problems = problems

    def emit(self, record: logging.LogRecord) -> None:
        life = self._cluster.loop.current_life
        now = self._cluster.loop.now
        self._cluster.trace.lines.append(
            f"{now:9.4f} [{life.name}] {record.levelname} {record.name}: {record.getMessage()}"
        )
        if record.exc_info and record.exc_info[1] is not None and not self._is_bad_luck(record.exc_info[1]):
            # A broker logs a traceback where something happened that its code did not foresee.
            text = "".join(traceback.format_exception(record.exc_info[1]))
            self._cluster.trace.lines.extend(text.splitlines())
            self._problems.append(
                f"at {now:.2f} s {life.name} logged: {record.getMessage()}: {record.exc_info[1]!r}"
            )

    def _is_bad_luck(self, error: BaseException) -> bool:
        """A broken disk may be met anywhere."""
        host = self._cluster.loop.current_life.name.partition(".")[0]
        bad = [machine.host for machine in self._cluster.machines if machine.disk_is_bad]
        return isinstance(error, OSError | TidelogError) and host in bad


@contextmanager
def captured_log(cluster: SimCluster, problems: list[str]) -> Iterator[None]:
    logger = logging.getLogger("tidelog")
    handler = _Lines(cluster, problems)
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
