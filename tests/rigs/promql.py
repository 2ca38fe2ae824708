"""Checks PromQL against the table of all metrics: every name is in it, every label belongs to its metric."""

import re
from collections.abc import Iterator

from tidelog.metrics.catalogue import FAMILIES
from tidelog.metrics.family import Family, Kind

OF_EVERY_SERIES = {"job", "instance"}
"""What Prometheus adds to each series that it scrapes."""
OF_ALERTS = {"alertname", "alertstate", "severity"}
"""What the series ALERTS has besides, which Prometheus itself makes of the rules."""

_METRIC = re.compile(r"\b((?:tidelog|process)_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")


def family_of(name: str) -> Family | None:
    for suffix in ("_bucket", "_count", "_sum"):
        family = FAMILIES.get(name.removesuffix(suffix))
        if name.endswith(suffix) and family is not None and family.kind is Kind.HISTOGRAM:
            return family
    family = FAMILIES.get(name)
    return None if family is not None and family.kind is Kind.HISTOGRAM else family


def faults(expression: str) -> Iterator[str]:
    """Yields what is wrong with an expression; nothing where all is well."""
    known = {"le"} | OF_EVERY_SERIES | (OF_ALERTS if "ALERTS" in expression else set())
    for name, matchers in _METRIC.findall(expression):
        family = family_of(name)
        if family is None:
            yield f"{name} is not in the table of metrics"
            continue
        known |= set(family.labels)
        wrong = set(_MATCHER.findall(matchers)) - set(family.labels) - OF_EVERY_SERIES - {"le"}
        yield from (f"{name} has no label {label}" for label in sorted(wrong))
    for names in _GROUPING.findall(expression):
        grouped = {name.strip() for name in names.split(",")} - {""}
        yield from (f"no metric here has the label {label}" for label in sorted(grouped - known))
