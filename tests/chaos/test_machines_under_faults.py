"""Three machines of two cores each: whole machines die, and cores alone, while clients write and read.

What was acknowledged is there, once and in order; replicas are equal at the end, and no machine has two of a
partition. `make chaos CHAOS="--cores 1"` is the long run of the same.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.campaign import run_faults
from tests.chaos.machines import MachineCluster, MachineNemesis

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[MachineCluster]:
    cluster = MachineCluster(tmp_path / "cluster")
    yield cluster
    cluster.end()


def test_a_machine_dies_with_all_its_cores_and_a_core_alone(machines: MachineCluster) -> None:
    machines.start()
    run_faults(machines, ["kill_leader", "kill_core_of_leader"], "cores", nemesis=MachineNemesis)
