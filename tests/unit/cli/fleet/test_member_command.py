"""The command line of a broker of a cluster: every user of the machine can read it, so no secret is in it."""

from pathlib import Path

from tidelog.cli.fleet.member import command_of
from tidelog.cli.fleet.plan import plan_fleet

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="hunter2";'


def test_secrets_go_by_the_environment(tmp_path: Path) -> None:
    flags = {
        "ssl.key.password": "hunter2",
        "listener.name.plaintext.plain.sasl.jaas.config": JAAS,
        "ssl.keystore.password": "${env:STORE:-x}",
        "num.partitions": "3",
    }
    plan = plan_fleet(None, 1, str(tmp_path), 9092, None, flags)
    command = command_of(plan, plan.members[0])
    assert "hunter2" not in repr(command)
    assert "--set=ssl.key.password=${env:_TIDELOG_SECRET_1}" in command.arguments
    assert "--set=ssl.keystore.password=${env:STORE:-x}" in command.arguments
    assert "--set=num.partitions=3" in command.arguments
    assert command.secrets == {"_TIDELOG_SECRET_1": "hunter2", "_TIDELOG_SECRET_2": JAAS}
