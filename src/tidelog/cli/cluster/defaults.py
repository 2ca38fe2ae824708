"""Settings for all brokers at once: IncrementalAlterConfigs with the protocol's empty broker name."""

from collections.abc import Iterable, Mapping

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.cli.connection import Cluster, parse_servers, unreachable
from tidelog.cli.direct.call import call, is_plain
from tidelog.cli.exits import CliError, Exit
from tidelog.wire.apis import ApiKey

VERSION = 1
BROKER, SET, DELETE = 4, 0, 1


def alter_cluster_defaults(cluster: Cluster, values: Mapping[str, str], unset: Iterable[str]) -> None:
    from tidelog.wire.messages import incremental_alter_configs as wire

    session = cluster.session
    if not is_plain(session):
        raise CliError(
            "Settings of all brokers can be changed over a plain connection only.",
            cause="librdkafka does not offer the request; Tidelog sends it itself, without TLS and SASL.",
            attempt="the same command with --id BROKER, for each broker",
        )
    changes = [
        wire.AlterableConfig(name=name, config_operation=SET, value=text) for name, text in values.items()
    ]
    changes += [wire.AlterableConfig(name=name, config_operation=DELETE) for name in unset]
    target = wire.AlterConfigsResource(resource_type=BROKER, resource_name="", configs=changes)
    request = wire.IncrementalAlterConfigsRequest(resources=[target])
    cluster.reach()
    try:
        answer = call(
            parse_servers(session.servers)[0],
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            VERSION,
            request,
            session.timeout_s,
        )
    except OSError as error:
        raise unreachable(session.servers, [error]) from error
    except ProtocolError as error:
        raise CliError(f"{session.servers} does not answer as a Kafka broker does: {error}.") from error
    for result in answer.responses:
        if result.error_code:
            raise _refusal(result.error_code, result.error_message)


def _refusal(code: int, message: str | None) -> CliError:
    known = next((known for known in ErrorCode if known == code), ErrorCode.UNKNOWN_SERVER_ERROR)
    denied = "AUTHORIZATION" in known.name
    return CliError(f"All brokers: {message or known.text}", code=Exit.DENIED if denied else Exit.REFUSED)
