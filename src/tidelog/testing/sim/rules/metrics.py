"""What the metrics of a whole cluster must say: the same as its metadata, broker by broker and in sum.

Looked at once in a run, when the cluster is whole again: until then brokers rightly differ.
"""

from collections.abc import Iterator

from tidelog.broker.metrics.setup import add_state_collectors
from tidelog.metadata.image.image import ClusterImage
from tidelog.metrics.catalogue import FAMILIES
from tidelog.metrics.collectors import Collectors
from tidelog.metrics.families import cluster, partitions, scrapes
from tidelog.metrics.family import Family
from tidelog.metrics.page import Page
from tidelog.testing.sim.cluster.view import View


def metrics_differ(seen: list[View]) -> Iterator[str]:
    """Yields what is wrong with the metrics of these brokers, which all know the same metadata."""
    pages = [(view, _page_of(view)) for view in seen]
    for view, page in pages:
        yield from _differences(view, page)
    for family, expected in _sums(seen[0].image):
        total = sum(_value(page, family) or 0 for _, page in pages)
        if total != expected:
            yield f"{family.name} of all brokers is {total:g} and should be {expected}"


def _page_of(view: View) -> Page:
    page, collectors = Page(), Collectors()
    add_state_collectors(collectors, view.node.services)
    for _ in collectors.fill(page):
        pass
    return page


def _sums(image: ClusterImage) -> Iterator[tuple[Family, int]]:
    everything = list(image.partitions())
    yield cluster.ACTIVE_CONTROLLER, 1
    yield cluster.PARTITIONS, len(everything)  # which the controller alone says
    yield cluster.OFFLINE_PARTITIONS, 0
    yield cluster.TOPICS, len(image.topics)
    yield partitions.LEADERS, len(everything)
    yield partitions.REPLICAS, sum(len(one.replicas) for _, one in everything)


def _differences(view: View, page: Page) -> Iterator[str]:
    node_id = view.machine.id
    led = sum(one.leader == node_id for _, one in view.image.partitions())
    expected = {
        partitions.LEADERS: led,
        partitions.UNDER_REPLICATED: 0,
        partitions.UNDER_MIN_ISR: 0,
        cluster.RAFT_APPLIED: view.version,
    }
    for family, right in expected.items():
        value = _value(page, family)
        if value != right:
            yield f"{view.life}: {family.name} is {value} and should be {right}"
    if page.lines.get(scrapes.COLLECTOR_ERRORS):
        yield f"{view.life}: a collector failed: {page.lines[scrapes.COLLECTOR_ERRORS]}"
    if strangers := [family.name for family in page.lines if family.name not in FAMILIES]:
        yield f"{view.life}: {strangers} are in no table"


def _value(page: Page, family: Family) -> float | None:
    lines = page.lines.get(family)
    return None if not lines else float(lines[0].rpartition(" ")[2])
