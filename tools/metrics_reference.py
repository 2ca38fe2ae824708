"""Writes docs/reference/metrics.md from the table of all metrics; `--check` only compares.

python -m tools.metrics_reference
"""

import sys
from pathlib import Path
from types import ModuleType

from tidelog.metrics.catalogue import THEMES
from tidelog.metrics.family import Family
from tools.pages import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "metrics.md"

HEAD = """# Metrics

<!-- Written by tools/metrics_reference.py from src/tidelog/metrics/families; change those. -->

A broker with `metrics.port` set serves these under `/metrics`, in Prometheus' text format or in
OpenMetrics. Units are seconds and bytes; a name that ends in `_total` is a counter since the start of
the process, so take its `rate()`. A histogram has `_bucket`, `_count` and `_sum`. Prometheus adds `job`
and `instance`.

"At the leader", "at the controller" and "at the coordinator" say which broker shows a metric: the
others leave it out, so `sum` over all brokers counts nothing twice.

## Limits

- Metrics of single partitions are shown while a broker has at most
  [`metrics.partitions.max`](broker-settings.md) replicas, those of single offsets of groups while it
  coordinates at most as many. Sums are always there.
- Topics beyond `metrics.topics.max` share the label `topic="(others)"`. Of groups the
  `metrics.groups.max` with the largest lag are shown.
- A page has at most 200,000 series; `tidelog_metrics_series_left_out` says how many it lacks.
"""

LAG = """
The lag of a group is measured where the group is coordinated: the coordinator asks the leaders every
five seconds where partitions end, and remembers a few dozen of these ends for each partition, the
recent ones more densely. Lag in seconds is the age of the first record that the group has not
committed: when the partition's end passed it, interpolated between two samples. A consumer that reads
and does not commit lags behind in this sense. The end is the high watermark: to a reader with
`isolation.level=read_committed` an open transaction looks like lag until it ends.
"""

KAFKA_HEAD = """
## From Apache Kafka's names

For dashboards and alerts that move. Rates of Kafka (`OneMinuteRate`) are `rate(…[1m])` of a counter
here, percentiles are `histogram_quantile` of the histogram's buckets.

| Apache Kafka | Tidelog |
|---|---|
"""

NOTES = {"groups": LAG}


def page() -> str:
    return HEAD + "".join(_theme(theme) for theme in THEMES) + KAFKA_HEAD + _from_kafka()


def families_of(theme: ModuleType) -> list[Family]:
    return [value for value in vars(theme).values() if isinstance(value, Family)]


def _theme(theme: ModuleType) -> str:
    summary = (theme.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    title = theme.__name__.rpartition(".")[2]
    rows = "".join(
        f"| `{family.name}` | {family.kind.value} | {_labels(family)} | {_cell(family.help)} |\n"
        for family in families_of(theme)
    )
    note = NOTES.get(title, "")
    return (
        f"\n## {title.capitalize()}\n\n{summary}\n\n| name | type | labels | meaning |\n|---|---|---|---|\n"
        f"{rows}{note}"
    )


def _labels(family: Family) -> str:
    return ", ".join(f"`{label}`" for label in family.labels)


def _from_kafka() -> str:
    rows = sorted(
        (family.kafka, family.name) for theme in THEMES for family in families_of(theme) if family.kafka
    )
    return "".join(f"| `{_cell(kafka)}` | `{name}` |\n" for kafka, name in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(run({PAGE: page}, sys.argv[1:]))
