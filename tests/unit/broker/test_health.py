"""Whether a broker lives and is ready, with the reason in a sentence for each cause."""

import pytest

from tidelog.broker.health import METADATA_SECONDS_MAX, Health, HealthVerdict
from tidelog.broker.log_dirs.recovery_progress import RecoveryProgress


def test_a_broker_that_serves_is_live_and_ready() -> None:
    health = Health(1)
    assert health.live() == health.ready() == HealthVerdict(True)
    assert health.ready().as_json() == {"ok": True}


@pytest.mark.parametrize(
    ("health", "reason"),
    [
        (Health(1, stopping=True), "broker 1 is stopping"),
        (Health(1, follows_metadata=False), "a majority of the voters must be up"),
        (Health(1, recovery=RecoveryProgress(12, 5, 3_400_000)), "5 of 12, 3.4 MB so far"),
        (Health(1, registered=False), "not registered"),
        (Health(1, fenced=True), "is fenced"),
        (Health(1, heartbeat_age_s=9.5, session_s=9.0), "answered no heartbeat"),
        (Health(1, metadata_stale=True), "may be stale"),
        (Health(1, metadata_wait_s=METADATA_SECONDS_MAX + 1), "committed metadata to apply"),
        (Health(1, log_dirs=2, failed_log_dirs=2), "every log dir"),
    ],
)
def test_it_is_live_but_not_ready_and_says_why(health: Health, reason: str) -> None:
    verdict = health.ready()
    assert not verdict.ok
    assert reason in verdict.reason
    assert verdict.as_json()["reason"] == verdict.reason
    assert health.live().ok


def test_a_broker_that_cannot_take_part_any_more_is_not_live() -> None:
    health = Health(1, failure="the disk failed")
    assert health.live() == HealthVerdict(False, ("the disk failed",))
    assert not health.ready().ok


def test_a_cluster_without_a_controller_makes_no_broker_unready() -> None:
    health = Health(1, has_controller=False, heartbeat_age_s=60.0)
    assert health.ready().ok
    assert "no controller" in health.ready().notes[0]


def test_a_machine_is_ready_when_all_of_its_cores_are() -> None:
    health = Health(1, cores_away=(1001,))
    assert health.ready().ok, "this core serves"
    assert health.machine_ready().reason == "broker 1001, a core of this machine, is fenced"
    assert Health(1).machine_ready().ok
    assert "is stopping" in Health(1, stopping=True).machine_ready().reason


def test_a_failed_log_dir_of_several_is_a_note() -> None:
    assert Health(1, log_dirs=3, failed_log_dirs=1).ready() == HealthVerdict(
        True, notes=("1 of 3 log dirs failed",)
    )


def test_a_moment_of_metadata_on_the_way_is_nothing() -> None:
    assert Health(1, metadata_wait_s=0.5, heartbeat_age_s=2.0).ready().ok
