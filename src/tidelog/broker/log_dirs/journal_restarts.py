"""A journal that failed begins anew, once no log needs the old one and after a pause: its file is a new one.

The disk may have been full for a moment. Where it is bad, each failure costs one more sync than without a
journal, so the pauses double.
"""

import logging
from dataclasses import dataclass

from tidelog.base.errors import StorageError, TidelogError
from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dirs import LogDirs

LOOK_SECONDS = 1.0
PAUSE_SECONDS = 10.0
PAUSE_SECONDS_MAX = 3600.0
SOUND_SECONDS = 3600.0
"""A journal that was well for so long has the first pause again."""

log = logging.getLogger("tidelog.broker.log_dirs")


@dataclass(slots=True)
class _Pause:
    seconds: float = PAUSE_SECONDS
    until: float | None = None
    """None while the journal is well."""
    restarted: float = float("-inf")


class JournalRestarts:
    def __init__(self, log_dirs: LogDirs, clock: Clock, run_in_thread: RunInThread) -> None:
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._pauses = {log_dir: _Pause() for log_dir in log_dirs}

    async def run_once(self) -> None:
        for log_dir, pause in self._pauses.items():
            if log_dir.journal is None or log_dir.journal.failure is None:
                continue
            now = self._clock.monotonic()
            if pause.until is None:
                if now - pause.restarted >= SOUND_SECONDS:
                    pause.seconds = PAUSE_SECONDS
                self._wait(pause, now)
            elif now >= pause.until and log_dir.can_restart_journal:
                await self._restart(log_dir, pause)

    @staticmethod
    def _wait(pause: _Pause, now: float) -> None:
        pause.until = now + pause.seconds
        pause.seconds = min(2 * pause.seconds, PAUSE_SECONDS_MAX)

    async def _restart(self, log_dir: LogDir, pause: _Pause) -> None:
        journal = log_dir.journal
        assert journal is not None
        failure = journal.failure
        try:
            await self._run_in_thread(log_dir.end_failed_journal())
        except (OSError, StorageError, TidelogError) as error:
            self._wait(pause, self._clock.monotonic())
            log.warning("the journal of %s cannot begin anew yet: %s", log_dir.path, error)
            return
        journal.begin_anew()
        pause.until, pause.restarted = None, self._clock.monotonic()
        log.warning("the journal of %s begins anew after: %s", log_dir.path, failure)
