"""Checks of transactions: all or nothing, and no circle of transactions that read from each other."""

from collections.abc import Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.observed import TXN, Observed
from tidelog.testing.history import Completion, Operation


def torn_transactions(seen: Observed) -> Iterator[Anomaly]:
    """A part of a transaction was read and another part is lost."""
    for operation in seen.transactions():
        there = [sent for sent in operation.sent if seen.is_read_committed(sent.value)]
        lost = [
            sent
            for sent in operation.sent
            if not seen.is_read(sent.value) and seen.is_below_highest_read(sent)
        ]
        if there and lost:
            yield Anomaly(
                "torn transaction",
                f"of {operation.process}: {', '.join(s.value for s in there)} was read, "
                f"{', '.join(s.value for s in lost)} was passed by",
            )


def circles(seen: Observed) -> Iterator[Anomaly]:
    """Committed transactions that each read what the next one wrote (G1c)."""
    edges = _reads_from(seen)
    for circle in _strong_components(edges):
        if len(circle) > 1:
            names = [f"{seen.history.operations[number].process} (line {number + 1})" for number in circle]
            yield Anomaly("G1c", f"each of these read from another: {', '.join(names)}")


def _reads_from(seen: Observed) -> dict[int, list[int]]:
    """Numbers of operations: reader to writers."""
    number_of = {id(operation): number for number, operation in enumerate(seen.history)}
    edges: dict[int, list[int]] = {}
    for number, operation in enumerate(seen.history):
        if not _took_place(operation) or not operation.committed_only:
            continue
        writers = (seen.writers.get(read.value) for read in operation.read)
        edges[number] = [
            number_of[id(writer)]
            for writer in writers
            if writer is not None and writer is not operation and _took_place(writer)
        ]
    return edges


def _took_place(operation: Operation) -> bool:
    return operation.kind == TXN and operation.outcome is not Completion.FAIL


def _strong_components(edges: dict[int, list[int]]) -> Iterator[list[int]]:
    """Tarjan's algorithm, without recursion: histories are long."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    for start in edges:
        if start in index:
            continue
        work: list[tuple[int, Iterator[int]]] = []

        def enter(node: int, work: list[tuple[int, Iterator[int]]] = work) -> None:
            index[node] = low[node] = len(index)
            path.append(node)
            on_path.add(node)
            work.append((node, iter(edges.get(node, ()))))

        enter(start)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(path.pop())
                        on_path.discard(component[-1])
                    yield component
            elif target not in index:
                enter(target)
            elif target in on_path:
                low[node] = min(low[node], index[target])
