"""Ids that one process holds at a time."""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

from tidelog.spark.sink.transactional_ids import Slots, driver_id, is_of_query, query_prefix


def take(slots: Slots, count: int) -> list[str]:
    return list(islice(slots.names(), count))


def test_a_process_gets_its_own_slots_again(tmp_path: Path) -> None:
    slots = Slots(tmp_path / "slots")
    first = take(slots, 2)
    assert first == [f"{slots.place}-0", f"{slots.place}-1"]
    assert take(slots, 3) == [*first, f"{slots.place}-2"]


def test_what_one_holds_another_does_not_get(tmp_path: Path) -> None:
    one, other = Slots(tmp_path), Slots(tmp_path)
    assert take(one, 2) == [f"{one.place}-0", f"{one.place}-1"]
    assert take(other, 2) == [f"{one.place}-2", f"{one.place}-3"], "the same place, other slots"


def test_the_slots_of_a_killed_process_are_free(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from tidelog.spark.sink.transactional_ids import Slots;"
        "slots = Slots(Path(sys.argv[1])); print(next(slots.names()), flush=True); os.kill(os.getpid(), 9)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -9
    assert take(Slots(tmp_path), 1) == [done.stdout.strip()]


def test_without_a_directory_a_process_has_names_of_its_own(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    one, other = Slots(blocked / "slots"), Slots(blocked / "slots")
    assert take(one, 2) == [f"{one.place}-0", f"{one.place}-1"]
    assert one.place != other.place


def test_the_directory_is_for_its_owner_only(tmp_path: Path) -> None:
    take(Slots(tmp_path / "slots"), 1)
    assert os.stat(tmp_path / "slots").st_mode & 0o077 == 0


def test_all_ids_of_a_query_have_its_prefix() -> None:
    assert driver_id("tidelog-spark", "q").startswith(query_prefix("tidelog-spark", "q"))
    assert not driver_id("tidelog-spark", "q2").startswith(query_prefix("tidelog-spark", "q"))


def test_ids_of_queries_whose_names_begin_alike_are_told_apart(tmp_path: Path) -> None:
    slot = next(Slots(tmp_path / "slots").names())
    for query in ("nightly", "nightly-eu", "nightly-driver", f"nightly-{slot}"):
        mine = [driver_id("p", query), query_prefix("p", query) + slot]
        assert all(is_of_query(id, "p", query) for id in mine)
        assert query == "nightly" or not any(is_of_query(id, "p", "nightly") for id in mine)
