"""`make mutants` finds what to break, and breaks one thing at a time."""

from pathlib import Path

from tools.mutants import mutants_of, mutated

SOURCE = """
def may_join(end, start, is_known):
    if end < start and not is_known:
        raise ValueError
    return max(end, start)
"""


def changes() -> list[str]:
    found = []
    while (change := mutated(SOURCE, len(found))) is not None:
        found.append(f"{change[2]} -> {change[3]}")
    return found


def test_each_comparison_condition_and_refusal_is_changed_once() -> None:
    assert changes() == [
        "end < start and (not is_known) -> not is_known",
        "end < start and (not is_known) -> end < start",
        "end < start -> end <= start",
        "not is_known -> is_known",
        "raise ValueError -> pass",
        "max(end, start) -> min(end, start)",
    ]


def test_nothing_else_changes() -> None:
    change = mutated(SOURCE, 2)
    assert change is not None
    assert change[0].splitlines() == [
        "def may_join(end, start, is_known):",
        "    if end <= start and (not is_known):",
        "        raise ValueError",
        "    return max(end, start)",
    ]
    assert change[1] == 3


def test_the_rules_of_raft_are_among_them() -> None:
    told = [str(mutant) for mutant in mutants_of(Path("tidelog/raft/leading.py"))]
    assert any(
        "node.log.term_at(index) == node.term  ->  node.log.term_at(index) != node.term" in one
        for one in told
    )
