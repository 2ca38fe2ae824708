"""The part of docs/benchmarks.md that the command writes: a table, and a picture of the ratios as SVG."""

from statistics import median
from typing import Any
from xml.sax.saxutils import escape

from benches.versus.results import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "benchmarks" / "versus.svg"
BEGIN, END = "<!-- versus: begin (written by make bench) -->", "<!-- versus: end -->"

ROW, LEFT, WIDTH, SCALE_MAX = 18, 420, 420, 4.0


def update(results: dict[str, Any]) -> None:
    PICTURE.write_text(picture(results))
    put(table(results), BEGIN, END, "Beside Apache Kafka, in ratios")


def put(written: str, begin: str, end: str, heading: str) -> None:
    """Between its marks, or where they are missing, at the end of the page under a heading."""
    text = PAGE.read_text()
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    if not rest:
        before, after = f"{text.rstrip()}\n\n## {heading}\n\n", "\n"
    PAGE.write_text(f"{before}{begin}\n{written}\n{end}{after}")


def table(results: dict[str, Any]) -> str:
    lines = [
        f"{results['machine']}; commit {results['commit']}, {results['when']}; {results['rounds']} rounds in "
        "alternation after one that is not counted. Medians, and in brackets the least and the most.",
        "",
        f"![Tidelog as a multiple of Apache Kafka]({PICTURE.relative_to(PAGE.parent)})",
        "",
        "| workload | figure | Tidelog | Apache Kafka | ratio | goal | share of the bare limit |",
        "|---|---|---|---|---|---|---|",
    ]
    for workload in results["workloads"]:
        for figure in workload["figures"]:
            cells = [cell(figure, name) for name in ("Tidelog", "Apache Kafka")]
            ratio = f"**{figure['ratio']:.2f}**" if figure["ratio"] is not None else ""
            unit = f"{figure['name']}, {figure['unit']}"
            cells += [ratio, goal(figure, "goal", "met"), _share_of_bare(figure)]
            lines.append(f"| {workload['name']} | {unit} | {' | '.join(cells)} |")
    lines += [f"\nFailed: {what}: {why}" for what, why in results["failed"].items()]
    lines += again(results["workloads"])
    return "\n".join(lines)


def again(workloads: list[dict[str, Any]]) -> list[str]:
    """A line for each commit at which some workloads were measured by themselves, after the whole run."""
    commits: dict[str, list[dict[str, Any]]] = {}
    for workload in workloads:
        if "run" in workload:
            commits.setdefault(workload["run"]["commit"], []).append(workload)
    return [
        f"\nMeasured again at commit {commit}, {min(row['run']['when'] for row in rows)} and later, "
        f"{rows[0]['run']['rounds']} rounds: {'; '.join(row['name'] for row in rows)}."
        for commit, rows in commits.items()
    ]


def cell(figure: dict[str, Any], system: str) -> str:
    values = figure["values"].get(system)
    if not values:
        return ""
    return f"{_number(median(values))} ({_number(min(values))} to {_number(max(values))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _share_of_bare(figure: dict[str, Any]) -> str:
    if figure["ratio_to_bare"] is None:
        return ""
    return f"**{figure['ratio_to_bare']:.2f}** {goal(figure, 'goal_of_bare', 'met_of_bare')}"


def goal(figure: dict[str, Any], goal: str, met: str) -> str:
    if figure[goal] is None:
        return ""
    side = "≥" if figure["more_is_better"] else "≤"
    verdict = {None: "", True: ": met", False: ": missed"}[figure[met]]
    return f"{side} {figure[goal]:g}{verdict}"


def picture(results: dict[str, Any]) -> str:
    """A bar for each ratio with a goal, on a line where 1 is Apache Kafka; the goal is a tick."""
    bars = [
        (f"{workload['name']}: {figure['name']}", figure)
        for workload in results["workloads"]
        for figure in workload["figures"]
        if figure["goal"] is not None and figure["ratio"] is not None
    ]
    height = 40 + ROW * len(bars)
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="white"/><text x="{LEFT}" y="14">'
        "Tidelog as a multiple of Apache Kafka (1 = the same; the tick is the goal)</text>",
    ]
    for row, (name, figure) in enumerate(bars):
        top = 26 + row * ROW
        length = _x(figure["ratio"]) - LEFT
        colour = "#2a7f62" if figure["met"] else "#c0562f"
        goal = _x(figure["goal"])
        body += [
            f'<text x="{LEFT - 6}" y="{top + 11}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{top + 2}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>',
            f'<line x1="{goal:.1f}" x2="{goal:.1f}" y1="{top}" y2="{top + ROW - 2}" stroke="black"/>',
            f'<text x="{_x(figure["ratio"]) + 4:.1f}" y="{top + 11}">{figure["ratio"]:.2f}</text>',
        ]
    one = _x(1.0)
    body.append(f'<line x1="{one}" x2="{one}" y1="22" y2="{height - 8}" stroke="#888" stroke-dasharray="3"/>')
    return "\n".join([*body, "</svg>"]) + "\n"


def _x(ratio: float) -> float:
    return LEFT + min(ratio, SCALE_MAX) / SCALE_MAX * WIDTH
