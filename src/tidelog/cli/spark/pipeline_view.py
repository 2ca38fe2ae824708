"""What a running pipeline shows: results as they come, and a line for each query that keeps itself fresh.

On a terminal the lines stay at the bottom; elsewhere a line is printed when there is news, on stderr, so that
stdout holds results only. With --json everything is an event on stdout, one a line.
"""

import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.base.units import size_text
from tidelog.cli.output import console, print_json_line

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from tidelog.spark.pipeline.progress import QueryProgress

COLUMNS = ("Query", ">Batch", ">Rows", ">Rows/s", ">Lag", ">Batch time", "State", ">Late")
PIPE_EVERY_S = 10.0


class PipelineView:
    def __init__(self, *, as_json: bool) -> None:
        self.json = as_json
        self._on_terminal = sys.stdout.isatty() and not as_json
        self._live: Live | None = None
        self._printing = threading.Lock()
        self._shown_s = 0.0
        self._shown: list[tuple[str, int]] = []

    def say(self, text: str, **facts: object) -> None:
        """A remark to a person, or an event to a program."""
        with self._printing:
            if self.json:
                if facts:
                    print_json_line(facts)
                    sys.stdout.flush()
            elif self._live is not None:
                self._live.console.print(text, markup=False)
            else:
                print(text, file=sys.stderr, flush=True)

    def begin(self) -> None:
        if self._on_terminal:
            from rich.live import Live

            self._live = Live(console=console(), auto_refresh=False, transient=False)
            self._live.start()

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def rows(
        self, query: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], count: int
    ) -> None:
        """The results of one batch; called from another thread than the rest."""
        with self._printing:
            if self.json:
                for row in rows:
                    print_json_line(
                        {"event": "row", "query": query, "batch": batch, "row": _plain(columns, row)}
                    )
                sys.stdout.flush()
                return
            table = result_table(columns, rows)
            more = f"  … and {count - len(rows):,} more rows" if count > len(rows) else ""
            if self._live is not None:
                self._live.console.print(table)
                if more:
                    self._live.console.print(more, markup=False)
                return
            screen = console()
            screen.print(table)
            if more:
                screen.print(more, markup=False)
            sys.stdout.flush()

    def progress(self, found: "list[QueryProgress]") -> None:
        with self._printing:
            if self._live is not None:
                self._live.update(_progress_table([query.as_json() for query in found]), refresh=True)
                return
            now = time.monotonic()
            batches = [(query.name, query.batch) for query in found]
            if batches == self._shown or (not self.json and now - self._shown_s < PIPE_EVERY_S):
                return
            self._shown, self._shown_s = batches, now
            if self.json:
                print_json_line({"event": "progress", "queries": [query.as_json() for query in found]})
                sys.stdout.flush()
                return
            for query in found:
                print(progress_line(query.as_json()), file=sys.stderr, flush=True)


def progress_rows(
    queries: Iterable[Mapping[str, Any]],
) -> tuple[Sequence[str], list[tuple[object, ...]]]:
    """For a table: how far each query is."""
    return COLUMNS, [
        (
            query["name"],
            query["batch"] if query["batch"] >= 0 else None,
            f"{query['rows']:,}",
            f"{query['rows_per_s']:,.0f}",
            None if query["lag"] is None else f"{query['lag']:,}",
            f"{query['batch_ms'] / 1000:.2f} s",
            state_text(query),
            f"{query['dropped_late']:,}",
        )
        for query in queries
    ]


def progress_line(query: Mapping[str, Any]) -> str:
    lag = "unknown" if query["lag"] is None else f"{query['lag']:,}"
    return (
        f"{query['name']}: batch {query['batch']}, {query['rows']:,} rows, "
        f"{query['rows_per_s']:,.0f} rows/s, lag {lag}, "
        f"batch time {query['batch_ms'] / 1000:.2f} s, state {state_text(query)}"
    )


def state_text(query: Mapping[str, Any]) -> str:
    if not query["state_rows"] and not query["state_bytes"]:
        return "none"
    return f"{query['state_rows']:,} rows, {size_text(query['state_bytes'])}"


def result_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold cyan", pad_edge=False, padding=(0, 2, 0, 0))
    numeric = {
        number
        for number in range(len(columns))
        if rows and all(isinstance(row[number], (int, float)) for row in rows if row[number] is not None)
    }
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    return table


def cell_text(value: object) -> str:
    """Windows as their two ends, and other structs as their fields."""
    match value:
        case None:
            return "-"
        case float():
            return f"{value:,.2f}"
        case int() if not isinstance(value, bool):
            return f"{value:,}"
        case bytes() | bytearray():
            return bytes(value).decode(errors="replace")
        case tuple() if getattr(value, "__fields__", None) == ["start", "end"]:
            return f"{_moment(value[0])} – {_moment(value[1])}"
        case tuple():
            return ", ".join(map(cell_text, value))
        case _:
            return _moment(value) if hasattr(value, "isoformat") else str(value)


def _moment(value: Any) -> str:
    return str(value.isoformat(sep=" ")) if hasattr(value, "hour") else str(value)


def _progress_table(queries: Iterable[Mapping[str, Any]]) -> "Table":
    from rich.table import Table

    columns, rows = progress_rows(queries)
    table = Table(box=None, header_style="dim", style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    for row in rows:
        table.add_row(*("-" if cell is None else str(cell) for cell in row))
    return table


def _plain(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return {column: _plain_value(cell) for column, cell in zip(columns, row, strict=True)}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "asDict"):
        return {name: _plain_value(inner) for name, inner in value.asDict().items()}
    if isinstance(value, (list, tuple)):
        return [_plain_value(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): _plain_value(inner) for key, inner in value.items()}
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode(errors="replace")
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
