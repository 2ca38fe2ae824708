"""Files that clients take as they are: for librdkafka, for Java, and for Spark and pipelines."""

import json
from dataclasses import dataclass, field

from tidelog.cli.security.files import SecurityFiles, write_private


@dataclass(frozen=True, slots=True)
class ClientAccess:
    """What a client needs to reach a cluster as a user."""

    servers: str
    user: str
    password: str = field(repr=False)
    ca_file: str
    mechanism: str = "SCRAM-SHA-512"


def librdkafka_properties(access: ClientAccess) -> str:
    return "".join(
        f"{name}={value}\n"
        for name, value in {
            "bootstrap.servers": access.servers,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": access.ca_file,
            "sasl.mechanism": access.mechanism,
            "sasl.username": access.user,
            "sasl.password": access.password,
        }.items()
    )


def java_properties(access: ClientAccess) -> str:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    login = f"{module} required username={_quoted(access.user)} password={_quoted(access.password)};"
    return "".join(
        f"{name}={_escaped(value)}\n"
        for name, value in {
            "bootstrap.servers": access.servers,
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": access.ca_file,
            "sasl.mechanism": access.mechanism,
            "sasl.jaas.config": login,
        }.items()
    )


def spark_options(access: ClientAccess) -> str:
    """YAML of strings, which JSON's strings are."""
    return "".join(
        f"{name}: {json.dumps(value, ensure_ascii=False)}\n"
        for name, value in {
            "kafka.bootstrap.servers": access.servers,
            "kafka.security.protocol": "SASL_SSL",
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": access.ca_file,
            "kafka.sasl.mechanism": access.mechanism,
            "kafka.sasl.username": access.user,
            "kafka.sasl.password": access.password,
        }.items()
    )


def write_client_files(files: SecurityFiles, access: ClientAccess) -> None:
    write_private(files.java_client, java_properties(access).encode())
    write_private(files.spark_options, spark_options(access).encode())
    write_private(files.client, librdkafka_properties(access).encode())


def read_properties(text: str) -> dict[str, str]:
    """Of librdkafka's form: a name and a value a line, nothing escaped."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _quoted(text: str) -> str:
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'


def _escaped(text: str) -> str:
    """A backslash begins an escape in Java's property files."""
    return text.replace("\\", "\\\\")
