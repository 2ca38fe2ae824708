"""A secured cluster on this machine: each broker gets a listener for brokers alone, and its certificate."""

from dataclasses import replace

from tidelog.cli.fleet.core_numbers import PORT_STEP, port_row
from tidelog.cli.fleet.plan import FleetPlan
from tidelog.cli.security.local import LocalBroker, LocalSecurity, refuse_own_settings


def secured_plan(plan: FleetPlan) -> FleetPlan:
    refuse_own_settings(plan.config)
    security = LocalSecurity(plan.data)
    rows = max(member.cores for member in plan.members)
    others = {
        port
        for member in plan.members
        for first in (member.listener.port, member.metrics_port, member.registry_port)
        for port in port_row(first, rows)
    }
    ports = security.choose_ports([member.listener.port for member in plan.members], rows, PORT_STEP, others)
    members = tuple(
        replace(member, broker_port=port) for member, port in zip(plan.members, ports, strict=True)
    )
    return replace(plan, members=members, security=security)


def prepare_security(plan: FleetPlan) -> None:
    """Before the brokers start; what is there already stays."""
    if plan.security is None:
        return
    brokers = [
        LocalBroker(member.id, member.log_dir, member.advertised.host, member.id in plan.recorded.voters)
        for member in plan.members
    ]
    plan.security.prepare(brokers, plan.recorded.cluster_id)
    plan.security.write_client_files(plan.bootstrap_servers)
