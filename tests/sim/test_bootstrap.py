"""The first users of a cluster: all voters have the same bootstrap file, whichever of them is elected."""

import asyncio

import pytest

from tests.sim.test_failover import leader_of, run
from tests.unit.metadata.security.test_bootstrap import SHA_512, bootstrap
from tidelog.base.ports import replace_file
from tidelog.broker.controller.bootstrap_file import FILE
from tidelog.security.sasl.scram_credential import is_password_of
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.faults.world import World

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")


@pytest.mark.parametrize("seed", [1, 2])
def test_every_voter_knows_the_user_and_keeps_no_file(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start = Machine.start

    def start_with_file(machine: Machine) -> None:
        if not machine.lives:
            [log_dir, *_] = machine.config.list("log.dirs")
            machine.disk.make_dirs(log_dir)
            replace_file(machine.disk, f"{log_dir}/{FILE}", bootstrap(cluster_id="").dump())
        start(machine)

    monkeypatch.setattr(Machine, "start", start_with_file)

    async def script(world: World) -> None:
        await asyncio.sleep(2)
        leader_of(world, of_quorum=True).kill()
        await asyncio.sleep(5)
        seen = views(world.cluster)
        assert len(seen) >= 2
        for view in seen:
            [(key, credential)] = view.node.services.metadata.image.security.credentials.items()
            assert key == ("admin", SHA_512)
            assert is_password_of(SHA_512, credential, "secret")
            assert not view.machine.disk.exists(f"{view.machine.config.list('log.dirs')[0]}/{FILE}")

    run(seed, script)
