"""What a refused client would need: the ACL, as the command that adds it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

ANONYMOUS = "User:ANONYMOUS"
UNKNOWN = "User:NAME"

RESOURCE_OF = {
    "TOPIC_AUTHORIZATION_FAILED": "topic",
    "GROUP_AUTHORIZATION_FAILED": "group",
    "CLUSTER_AUTHORIZATION_FAILED": "cluster",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "transactional-id",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": "delegation-token",
}
"""The kind of resource that an error code is about, as the option of `tidelog acl add` has it."""


class Permission(NamedTuple):
    operation: str
    resource: str
    name: str = ""

    def command(self, principal: str) -> str:
        """The command that allows it; an administrator runs it."""
        return acl_command(principal, [self.operation], self.resource, self.name)


def acl_command(principal: str, operations: Sequence[str], resource: str, name: str = "") -> str:
    named = "" if resource == "cluster" else f" {_quoted(name or 'NAME')}"
    # As the command spells them: DescribeConfigs is describe-configs.
    words = [re.sub(r"(?<=[a-z])(?=[A-Z])", "-", operation).lower() for operation in operations]
    wanted = " ".join(f"--operation {word}" for word in words)
    return f"tidelog acl add --principal {_quoted(principal)} {wanted} --{resource}{named}"


_OPERATION_OF = {
    "Creating": "Create",
    "Deleting": "Delete",
    "Sending": "Write",
    "Preparing": "Write",
    "The": "Write",
    "Reading": "Read",
    "Subscribing": "Read",
    "Committing": "Read",
    "Changing": "AlterConfigs",
    "Adding": "Alter",
    "Setting": "Read",
}
"""By the first word of what a client does; all else only describes."""
_NAME = re.compile(r"'(?P<quoted>[^']+)'|not available: (?P<topic>[\w.-]+)|(?P<place>[\w.-]+)\[\d+\]")


def permission_of(code_name: str, what: str, said: str = "") -> Permission | None:
    """The permission that was missing, from the operation ("Creating topic 'a'") and librdkafka's words."""
    resource = RESOURCE_OF.get(code_name)
    if resource is None:
        return None
    operation = _OPERATION_OF.get(what.split(" ", maxsplit=1)[0], "Describe")
    if resource == "cluster" and operation == "Write":
        resource = "topic"  # for which idempotent writes are allowed too
    found = _NAME.search(what) or _NAME.search(said)
    is_named = found is not None and (resource == "topic" or "group" in what.lower())
    return Permission(operation, resource, str(found[found.lastgroup or 0]) if found and is_named else "")


def principal_of(properties: Mapping[str, Any]) -> str:
    """As which the brokers know a client with these properties, as far as the client can tell."""
    protocol = str(properties.get("security.protocol", "plaintext")).lower()
    if protocol.startswith("sasl"):
        name = properties.get("sasl.username") or _of_login_module(properties)
        return f"User:{name}" if name else UNKNOWN
    certificate = properties.get("ssl.certificate.location") or properties.get("ssl.keystore.location")
    if protocol == "ssl" and (certificate or "ssl.certificate.pem" in properties):
        return UNKNOWN  # the brokers' mapping rules decide
    return ANONYMOUS


def _of_login_module(properties: Mapping[str, Any]) -> str | None:
    from tidelog.blocking.errors import SecurityError
    from tidelog.blocking.security_options import login_module

    try:
        login = login_module({"sasl.jaas.config": str(properties.get("sasl.jaas.config", ""))})
    except SecurityError:
        return None
    return login.username if login is not None else None


def _quoted(text: str) -> str:
    return shlex.quote(text)
