"""How far a query is, in the few numbers a person looks at: rows a second, lag, batch time, state."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from math import isfinite
from typing import Any

RATE_WINDOW_S = 10.0
LAG = "@lag"


@dataclass(frozen=True, slots=True)
class QueryProgress:
    name: str
    batch: int = -1
    rows: int = 0
    """Since this run began."""
    rows_per_s: float = 0.0
    lag: int | None = None
    """Records that are there and not read yet; None where the source does not say."""
    batch_ms: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    dropped_late: int = 0
    watermark: str | None = None
    batches: int = 0
    """Since this run began, as all that adds up here."""
    output_rows: int = 0
    """As far as the sink says it."""
    input_per_s: float = 0.0
    """As Spark measured the last batch."""
    processed_per_s: float = 0.0
    lag_by_topic: Mapping[str, int] = field(default_factory=dict)
    ended_s: float | None = None
    """When the last batch ended, in seconds since 1970."""
    restarts: int = 0
    is_active: bool = True

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Meter:
    """Adds up the progress reports of one query; each is counted once, however often it is seen."""

    def __init__(self, name: str) -> None:
        self._now = QueryProgress(name)
        self._seen: tuple[str, int] = ("", -1)
        self._recent: deque[tuple[float, int]] = deque()
        self._began_s: float | None = None

    def restarted(self) -> None:
        """The query was started again after a failure."""
        self._now = replace(self._now, restarts=self._now.restarts + 1)

    def take(
        self, reports: Iterable[Mapping[str, Any]], now_s: float, *, is_active: bool = True
    ) -> QueryProgress:
        """`reports` as Spark keeps them, oldest first; `now_s` by the clock that they were stamped with."""
        for report in reports:
            stamp = (str(report["timestamp"]), int(report["batchId"]))
            if stamp > self._seen:
                self._seen = stamp
                self._add(report)
        while self._recent and self._recent[0][0] < now_s - RATE_WINDOW_S:
            self._recent.popleft()
        self._now = replace(self._now, rows_per_s=round(self._rate(now_s), 1), is_active=is_active)
        return self._now

    def _rate(self, now_s: float) -> float:
        if self._began_s is None or not self._recent:
            return 0.0
        span = min(RATE_WINDOW_S, max(1.0, now_s - self._began_s))
        return sum(rows for _, rows in self._recent) / span

    def _add(self, report: Mapping[str, Any]) -> None:
        began_s = datetime.fromisoformat(str(report["timestamp"])).timestamp()
        took_ms = int((report.get("durationMs") or {}).get("triggerExecution", 0))
        rows = _rows_of(report)
        self._began_s = began_s if self._began_s is None else self._began_s
        self._recent.append((began_s + took_ms / 1000, rows))
        operators = report.get("stateOperators") or []
        is_batch = rows > 0 or int(report["batchId"]) != self._now.batch
        self._now = replace(
            self._now,
            batch=int(report["batchId"]),
            batches=self._now.batches + is_batch,
            output_rows=self._now.output_rows
            + max(0, int((report.get("sink") or {}).get("numOutputRows") or 0)),
            input_per_s=_rate_of(report, "inputRowsPerSecond"),
            processed_per_s=_rate_of(report, "processedRowsPerSecond"),
            lag_by_topic=lag_by_topic(report.get("sources") or []),
            ended_s=began_s + took_ms / 1000 if is_batch else self._now.ended_s,
            rows=self._now.rows + rows,
            lag=lag_of(report.get("sources") or []),
            # An idle query reports too; the time of its last batch says more than that of doing nothing.
            batch_ms=took_ms if rows or not self._now.batch_ms else self._now.batch_ms,
            state_rows=sum(int(operator.get("numRowsTotal") or 0) for operator in operators),
            state_bytes=sum(int(operator.get("memoryUsedBytes") or 0) for operator in operators),
            dropped_late=self._now.dropped_late
            + sum(int(operator.get("numRowsDroppedByWatermark") or 0) for operator in operators),
            watermark=(report.get("eventTime") or {}).get("watermark"),
        )


def _rows_of(report: Mapping[str, Any]) -> int:
    """By Spark Connect only the sources say it."""
    total = report.get("numInputRows")
    return int(total or sum(int(source.get("numInputRows") or 0) for source in report.get("sources") or []))


def lag_of(sources: Iterable[Mapping[str, Any]]) -> int | None:
    """Over all sources that say where their logs end."""
    total = None
    for source in sources:
        latest = as_offsets(source.get("latestOffset"))
        if isinstance(latest.get(LAG), int):
            total = (total or 0) + latest[LAG]
    return total


def lag_by_topic(sources: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Of all topics whose end is known: how far the query is behind it."""
    lags: dict[str, int] = {}
    for source in sources:
        read, latest = as_offsets(source.get("endOffset")), as_offsets(source.get("latestOffset"))
        for topic, ends in latest.items():
            if topic.startswith("@") or not isinstance(ends, Mapping):
                continue
            done = as_offsets(read.get(topic))
            behind = sum(max(0, int(end) - int(done.get(partition, 0))) for partition, end in ends.items())
            lags[topic] = lags.get(topic, 0) + behind
    return lags


def _rate_of(report: Mapping[str, Any], key: str) -> float:
    """Spark says nothing, or "NaN", of a batch without rows."""
    try:
        rate = float(report.get(key) or 0.0)
    except (TypeError, ValueError):
        return 0.0
    return rate if isfinite(rate) else 0.0


def as_offsets(value: Any) -> Mapping[str, Any]:
    """Spark hands offsets over as JSON, or as a text that holds JSON."""
    if isinstance(value, str):
        import json

        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
