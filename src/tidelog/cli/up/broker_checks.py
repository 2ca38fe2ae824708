"""Whether a broker's settings make sense for a member of a cluster; said before anything is started."""

from tidelog.base.config.config import BrokerConfig
from tidelog.base.voters import VoterAddress, parse_voters
from tidelog.cli.exits import CliError, Exit

EXAMPLE = "1@host-1:9092,2@host-2:9092,3@host-3:9092"


def check_membership(config: BrokerConfig) -> None:
    voters = parse_voters(config.list("controller.quorum.voters"))
    if not voters:
        raise _wrong(
            "No voters are set, so this would be a cluster of its own.",
            "controller.quorum.voters is missing; it names the brokers that keep the cluster's metadata, "
            "the same on every machine.",
            f"--set controller.quorum.voters={EXAMPLE}; or tidelog up, for a single broker",
        )
    if not config.is_given("node.id"):
        raise _wrong(
            "node.id is not set.",
            "every broker of a cluster has a number of its own; voters are known by theirs.",
            f"--set node.id=N, one of {_ids(voters)} for a voter, another number for a broker without a vote",
        )
    node = config.int("node.id")
    this = {(listener.host, listener.port) for listener in config.advertised_listeners()}
    named = next((voter for voter in voters if voter.id == node), None)
    here = next((voter for voter in voters if (voter.host, voter.port) in this), None)
    if named is None and here is not None:
        raise _wrong(
            f"controller.quorum.voters says that broker {here.id} is at {here.address}, but this is broker "
            f"{node}.",
            "node.id differs from the voter list, or the list has the address of another machine.",
            f"--set node.id={here.id}, or {node}@{here.address} in controller.quorum.voters on every machine",
        )
    if named is not None and not any(port == named.port for _, port in this):
        ports = ", ".join(str(port) for _, port in sorted(this))
        raise _wrong(
            f"controller.quorum.voters says that broker {node} is at {named.address}, but it listens at port "
            f"{ports}.",
            "the other voters could not reach it there.",
            f"--set listeners=PLAINTEXT://{named.host}:{named.port}, or change the list on every machine",
        )


def _ids(voters: list[VoterAddress]) -> str:
    return ", ".join(str(voter.id) for voter in voters)


def _wrong(message: str, cause: str, attempt: str) -> CliError:
    return CliError(message, cause=cause, attempt=attempt, code=Exit.USAGE)
