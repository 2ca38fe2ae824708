"""Rows of docs/benchmarks.md that are measured again by themselves."""

from typing import Any

from benches.versus.page import again
from benches.versus.results import merged

RUN = {"machine": "a machine", "commit": "c2", "when": "2026-02-02 10:00 UTC", "rounds": 5}


def results(names: list[str], value: int, failed: dict[str, str] | None = None, **run: Any) -> dict[str, Any]:
    rows = [{"name": name, "figures": [value]} for name in names]
    return {**RUN, **run, "failed": failed or {}, "workloads": rows}


def test_new_rows_replace_old_ones_in_the_order_of_the_workloads() -> None:
    found = merged(results(["a", "b", "gone"], 1, commit="c1"), results(["new", "b"], 2), ["a", "new", "b"])
    assert [(row["name"], row["figures"]) for row in found["workloads"]] == [
        ("a", [1]),
        ("new", [2]),
        ("b", [2]),
    ]
    assert found["commit"] == "c1"
    assert [row.get("run", {}).get("commit") for row in found["workloads"]] == [None, "c2", "c2"]


def test_a_failure_is_forgotten_once_its_row_was_measured_again() -> None:
    known = results(["a", "b"], 1, {"a: Apache Kafka": "no answer", "b: Tidelog": "no disk"})
    assert merged(known, results(["a"], 2), ["a", "b"])["failed"] == {"b: Tidelog": "no disk"}


def test_brokers_that_did_not_start_are_forgotten_once_a_row_of_theirs_was_measured_again() -> None:
    known = results(["a (os)", "b (fsync)"], 1, {"os: Tidelog": "no file", "fsync: Tidelog": "no disk"})
    assert merged(known, results(["a (os)"], 2), ["a (os)"])["failed"] == {"fsync: Tidelog": "no disk"}


def test_the_page_names_rows_of_a_later_commit_and_their_first_moment() -> None:
    later = RUN | {"when": "2026-02-02 11:00 UTC"}
    [line] = again([{"name": "a", "run": later}, {"name": "b", "run": RUN}, {"name": "c"}])
    assert "commit c2, 2026-02-02 10:00 UTC and later" in line
    assert line.endswith("a; b.")
