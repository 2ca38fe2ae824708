"""A page as text: Prometheus' format 0.0.4, and OpenMetrics 1.0."""

from collections.abc import Iterator

from tidelog.metrics.family import Family, Kind
from tidelog.metrics.page import Page

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PIECE_LINES = 500


def is_open_metrics(accept: str) -> bool:
    """Returns whether the client's Accept header asks for OpenMetrics."""
    return "application/openmetrics-text" in accept


def text_of(page: Page, *, open_metrics: bool) -> Iterator[str]:
    """Yields the text in pieces of some 50 KiB: work for a turn of the loop, and for a write to a socket."""
    piece: list[str] = []
    for family, lines in page.lines.items():
        if not lines:
            continue
        piece.append(_head(family, open_metrics))
        for at in range(0, len(lines), PIECE_LINES):
            piece += lines[at : at + PIECE_LINES]
            if len(piece) >= PIECE_LINES:
                yield "\n".join(piece) + "\n"
                piece.clear()
    if open_metrics:
        piece.append("# EOF")
    if piece:
        yield "\n".join(piece) + "\n"


def _head(family: Family, open_metrics: bool) -> str:
    name = family.name
    if open_metrics and family.kind is Kind.COUNTER:
        name = name.removesuffix("_total")  # there the suffix belongs to the sample
    help = family.help.replace("\\", r"\\").replace("\n", r"\n")
    if open_metrics:
        help = help.replace('"', r"\"")
    return f"# HELP {name} {help}\n# TYPE {name} {family.kind.value}"
