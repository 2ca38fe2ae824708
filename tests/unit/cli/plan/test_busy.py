"""The CPU of a load: what spreading over more cores adds."""

from dataclasses import replace

import pytest

from tidelog.cli.plan.busy import POLLS_PER_SECOND, busy, pairs, rounds
from tidelog.cli.plan.coefficients import COPY_SECONDS, ROUND
from tidelog.cli.plan.load import Load

LOAD = Load(messages_per_second=1_000_000, message_bytes=1000, retention_s=86_400, peak=1.0)


def test_a_follower_has_a_connection_to_each_broker_of_other_machines() -> None:
    many = replace(LOAD, partitions=100_000)
    assert pairs(many, 3) == 3 * 2
    assert pairs(replace(many, cores=16), 3) == 48 * 32


def test_no_more_pairs_than_copies_of_partitions() -> None:
    assert pairs(replace(LOAD, partitions=10, cores=16), 3) == 10 * 2
    assert pairs(replace(LOAD, partitions=10, replication=1), 3) == 0


def test_what_arrives_during_a_round_travels_together() -> None:
    assert rounds(1.0, 1, 0.001) == pytest.approx(1.0, rel=0.01)
    assert rounds(1000.0, 1, 0.001) == pytest.approx(1000 / (1 + 1.055 / 0.945))
    assert rounds(1000.0, 1000, 0.001) == pytest.approx(1000, rel=0.01)
    assert rounds(1.0, 0, 0.001) == 0


@pytest.mark.parametrize("rate", [10.0, 1000.0, 10_000.0])
def test_a_round_takes_its_time_and_that_of_its_requests(rate: float) -> None:
    in_a_round = rate / rounds(rate, 1, 0.001)
    assert in_a_round == pytest.approx(1 + rate * (0.001 + in_a_round * COPY_SECONDS))


@pytest.mark.parametrize("rate", [1e3, 1e5, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("partitions", [3, 48, 10_000])
def test_to_sync_is_never_cheaper(rate: float, partitions: int) -> None:
    load = replace(LOAD, messages_per_second=rate, partitions=partitions, cores=4)
    assert busy(load, 5).cores >= busy(replace(load, durability="os"), 5).cores


def test_the_same_load_costs_more_over_more_cores_and_never_more_than_a_round_for_each_copy() -> None:
    found = [busy(replace(LOAD, partitions=100_000, cores=cores), 3) for cores in (1, 4, 16, 64)]
    copying = [one.copying for one in found]
    assert copying == sorted(copying)
    assert len({one.producing for one in found}) == 1
    lone_rounds = busy(replace(LOAD, partitions=10**9, cores=10_000), 3).copying
    assert copying[-1] < lone_rounds


def test_fewer_partitions_keep_rounds_full() -> None:
    few, many = (busy(replace(LOAD, partitions=count, cores=16), 3) for count in (48, 10_000))
    assert few.copying < many.copying


def test_a_follower_that_waits_in_vain_costs_its_fetches() -> None:
    quiet = replace(LOAD, messages_per_second=0.0, partitions=100_000, cores=16)
    found = busy(quiet, 3)
    assert found.copying == pytest.approx(48 * 32 * POLLS_PER_SECOND * ROUND["os"] / 1e6)
    assert found.producing == 0


def test_a_leader_without_followers_syncs_for_itself() -> None:
    alone = replace(LOAD, replication=1)
    assert busy(alone, 3).producing > 2 * busy(replace(alone, durability="os"), 3).producing
    assert busy(LOAD, 3).producing == busy(replace(LOAD, durability="os"), 3).producing
    assert busy(LOAD, 3).copying > busy(replace(LOAD, durability="os"), 3).copying


def test_a_consumer_polls_each_core_that_leads_for_it() -> None:
    quiet = replace(LOAD, messages_per_second=1.0, partitions=1000, members=10)
    one, many = (busy(replace(quiet, cores=cores), 3) for cores in (1, 16))
    assert many.consuming == pytest.approx(one.consuming * 16, rel=0.01)


def test_the_parts_add_up() -> None:
    found = busy(replace(LOAD, tls=True), 3)
    assert found.encrypting > 0
    assert found.cores == pytest.approx(
        found.producing + found.copying + found.consuming + found.encrypting + found.idling
    )


def test_each_broker_costs_something_without_load() -> None:
    found = [busy(replace(LOAD, cores=cores), 3).idling for cores in (1, 16)]
    assert found[0] > 0
    assert found[1] == pytest.approx(16 * found[0])
