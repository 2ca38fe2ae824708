"""`--metrics-port` and `--metrics-host`: where a pipeline serves the progress of its queries."""

from typing import NamedTuple

import click

from tidelog.cli.session import Command


class MetricsAddress(NamedTuple):
    port: int
    """0: a free one."""
    host: str = "localhost"


def metrics_options(command: Command) -> Command:
    port = click.option(
        "--metrics-port",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Serve /metrics for Prometheus, and /healthz, on this port; 0 chooses a free one.",
    )
    host = click.option(
        "--metrics-host",
        metavar="ADDRESS",
        help="The address that --metrics-port listens on; 0.0.0.0 is every interface. [default: localhost]",
    )
    return port(host(command))


def address_of(
    port: int | None, host: str | None, of_file: tuple[int | None, str | None] = (None, None)
) -> MetricsAddress | None:
    """What was given, or else what the pipeline's file says; None without a port."""
    port = of_file[0] if port is None else port
    if port is None:
        if host is not None:
            raise click.UsageError("--metrics-host needs --metrics-port.")
        return None
    return MetricsAddress(port, host or of_file[1] or "localhost")
