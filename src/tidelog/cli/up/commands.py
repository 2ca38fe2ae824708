"""`tidelog up`: one broker in the foreground, or a cluster of several on this machine.

Nothing here may slow the start of a single broker: what a cluster needs is imported only for one.
"""

import click

from tidelog.cli.session import Session, json_option, parse_pair, pass_session
from tidelog.cli.up.options import (
    DEFAULT_DATA,
    config_option,
    cores_option,
    data_option,
    ready_file_option,
    set_option,
    with_cores,
)

BROKERS_MAX = 64


@click.command()
@click.option(
    "-n",
    "--brokers",
    type=click.IntRange(1, BROKERS_MAX),
    metavar="N",
    help="Run a cluster of N brokers, each in its own process. [default: 1, or as many as --data holds]",
)
@data_option
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port of the first broker; 0 takes free ports. [default: 9092]",
)
@config_option
@set_option
@cores_option
@ready_file_option
@click.option(
    "--secure",
    is_flag=True,
    help="TLS, users and ACLs on all brokers, with keys and client files in DIR/security. Stays on.",
)
@click.option(
    "--demo", is_flag=True, help="Create a topic, write a record and read it back, as a demonstration."
)
@click.option(
    "--demo-pipeline",
    is_flag=True,
    help="After that: sample events and a windowed pipeline on Spark, which is installed if it is missing.",
)
@click.option(
    "--no-restart", is_flag=True, help="Do not restart a broker of the cluster that exited unexpectedly."
)
@json_option
@pass_session
def up(
    session: Session,
    brokers: int | None,
    data: str | None,
    port: int | None,
    file: str | None,
    values: tuple[str, ...],
    cores: str | None,
    ready_file: str | None,
    secure: bool,
    demo: bool,
    demo_pipeline: bool,
    no_restart: bool,
) -> int:
    """Run a broker, or a cluster of several, in the foreground.

    Ctrl-C or SIGTERM stops it cleanly: requests in flight are answered, and everything is flushed.
    A second Ctrl-C stops it at once.

    \b
    tidelog up                                     # localhost:9092, data in ./data
    tidelog up --data /var/lib/tidelog --set log.retention.ms=7d
    tidelog up --config broker.yaml --port 0 --ready-file /tmp/broker.json
    tidelog up --brokers 3                         # a cluster: ports 9092 to 9094, data/node-1 to data/node-3
    tidelog up --cores 4                           # one broker on four cores: ports 9092 to 9095
    tidelog up --brokers 3 --cores 2               # a cluster of three machines with two cores each
    tidelog up --secure                            # with TLS and users; prints how to connect
    """
    from tidelog.cli.fleet.record import recorded_fleet
    from tidelog.cli.security.secured_state import is_secured

    pairs = with_cores(dict(map(parse_pair, values)), cores)
    recorded = recorded_fleet(data or DEFAULT_DATA)
    if recorded is not None and data is None and brokers is None:
        from tidelog.cli.up.settings import given_config

        # A cluster in ./data means nothing to a broker whose settings name another directory.
        recorded = None if given_config(file, pairs).is_given("log.dirs") else recorded
    if recorded is not None or (brokers or 1) > 1:
        from tidelog.cli.fleet.plan import plan_fleet
        from tidelog.cli.fleet.supervisor import Fleet

        plan = plan_fleet(recorded, brokers, data or DEFAULT_DATA, port, file, pairs)
        if secure or is_secured(plan.data):
            from tidelog.cli.fleet.secured import secured_plan

            plan = secured_plan(plan)
        return Fleet(
            plan,
            as_json=session.json,
            ready_file=ready_file,
            restart=not no_restart,
            demo=demo,
            demo_pipeline=demo_pipeline,
        ).run()
    from tidelog.cli.up.ports import METRICS, REGISTRY, http_ports
    from tidelog.cli.up.running import Running
    from tidelog.cli.up.settings import broker_config, given_config, has_cores

    given = given_config(file, pairs)
    if has_cores(given, data):
        from tidelog.cli.cores.machine import machine_alone
        from tidelog.cli.cores.supervisor import CoreFleet

        return CoreFleet(
            machine_alone(broker_config(file, data, port, pairs), file, pairs, secure=secure),
            as_json=session.json,
            ready_file=ready_file,
            restart=not no_restart,
            demo=demo,
            demo_pipeline=demo_pipeline,
        ).run()
    own = [listener.port for listener in given.listeners()] if port is None else [port]
    for what in (METRICS, REGISTRY):
        [http_port] = http_ports(given, what, 1, any_free=port == 0, others=own)
        pairs[f"{what}.port"] = str(http_port)
    config = broker_config(file, data, port, pairs)
    security = None
    if secure or is_secured(config.list("log.dirs")[0]):
        from tidelog.cli.up.secured import secured_flags

        pairs, security = secured_flags(config, pairs)
        config = given_config(file, pairs)
    return Running(
        config,
        as_json=session.json,
        ready_file=ready_file,
        demo=demo,
        demo_pipeline=demo_pipeline,
        security=security,
    ).run()
