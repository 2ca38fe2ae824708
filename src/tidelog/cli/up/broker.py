"""`tidelog broker`: one broker of a cluster, from the settings of its machine."""

import click

from tidelog.cli.session import Session, json_option, parse_pair, pass_session
from tidelog.cli.up.options import (
    config_option,
    cores_option,
    data_option,
    ready_file_option,
    set_option,
    with_cores,
)


@click.command()
@config_option
@data_option
@set_option
@cores_option
@ready_file_option
@click.option("--one-core", is_flag=True, hidden=True, help="One of the processes of --cores.")
@click.option("--until-stdin-closes", is_flag=True, hidden=True, help="Stop when the parent process ends.")
@click.option("--in-fleet", metavar="DIR", hidden=True, help="A machine of the cluster in this directory.")
@click.option(
    "--no-restart", is_flag=True, hidden=True, help="Do not restart a core that exited unexpectedly."
)
@json_option
@pass_session
def broker(
    session: Session,
    data: str | None,
    file: str | None,
    values: tuple[str, ...],
    cores: str | None,
    ready_file: str | None,
    until_stdin_closes: bool,
    one_core: bool,
    in_fleet: str | None,
    no_restart: bool,
) -> int:
    """Run one broker of a cluster in the foreground.

    Its settings give its id (node.id), its listeners, and the voters on the cluster's metadata: the same
    controller.quorum.voters on every machine. A broker that is not among the voters joins without a vote.
    Ctrl-C or SIGTERM moves the leadership of its partitions to other brokers, then stops it.

    \b
    tidelog broker --config /etc/tidelog/broker.yaml
    tidelog broker --config broker.yaml --set node.id=2 --set listeners=PLAINTEXT://host-2:9092
    tidelog broker --config broker.yaml --cores auto   # a process for each core of the machine
    """
    from tidelog.cli.up.broker_checks import check_membership
    from tidelog.cli.up.running import Running
    from tidelog.cli.up.settings import broker_config, has_cores

    pairs = with_cores(dict(map(parse_pair, values)), cores)
    config = broker_config(file, data, None, pairs)
    check_membership(config)
    if not one_core and has_cores(config):
        from tidelog.cli.cores.machine import machine_in_cluster
        from tidelog.cli.cores.supervisor import CoreFleet

        return CoreFleet(
            machine_in_cluster(config, file, pairs, in_fleet=in_fleet is not None),
            as_json=session.json,
            ready_file=ready_file,
            restart=not no_restart,
            until_stdin_closes=until_stdin_closes,
            fleet=in_fleet,
        ).run()
    running = Running(
        config,
        as_json=session.json,
        ready_file=ready_file,
        until_stdin_closes=until_stdin_closes,
        beats=one_core,
    )
    return running.run()
