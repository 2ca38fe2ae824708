"""Three brokers under faults that a seed chooses, while producers, consumers and a group run.

What was acknowledged is there, once and in order; nobody reads what goes away again; groups keep their
commits; and at the end the replicas are equal, byte by byte. `make chaos` is the long run of the same.
"""

import pytest

from tests.chaos.campaign import run_faults

pytestmark = pytest.mark.timeout(300)

KILLS = {"os": ["kill_leader", "kill_two", "kill_all"], "fsync": ["restart_storm"]}
PAUSES_AND_CUTS = [
    "pause_leader",
    "isolate_leader",
    "mute_one",
    "deafen_one",
    "cut_one_link",
    "kill_while_cut_off",
]


@pytest.mark.parametrize("durability", ["os", "fsync"])
def test_killed_brokers(make_cluster, durability: str) -> None:
    cluster = make_cluster(durability=durability)
    cluster.start()
    faults = (
        ["kill_leader", "kill_two", "kill_all"] if durability == "os" else ["restart_storm", "kill_leader"]
    )
    run_faults(cluster, faults, f"kills {durability}")


def test_paused_and_cut_off_brokers(make_cluster) -> None:
    cluster = make_cluster()
    cluster.start()
    faults = [
        "pause_leader",
        "isolate_leader",
        "mute_one",
        "deafen_one",
        "cut_one_link",
        "kill_while_cut_off",
    ]
    run_faults(cluster, faults, "cuts")


def test_lost_directory_and_jumping_clocks(make_cluster) -> None:
    """The broker comes back empty, copies everything, and never leads with fewer records than there are."""
    cluster = make_cluster()
    cluster.start()
    run_faults(cluster, ["lose_log_dir", "jump_clock", "kill_one"], "log-dir")
