"""Client properties as a person may see them: a secret is hidden, a variable in its place is shown."""

import re
from collections.abc import Mapping

HIDDEN = "********"
_SECRET = re.compile(
    r"password|jaas|secret|keystore\.key|key\.pem|oauthbearer\.(token$|config)", re.IGNORECASE
)
_VARIABLE_ALONE = re.compile(r"\$\{(env|file):[^}]*\}\Z")


def is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def is_variable(value: str) -> bool:
    """Whether the value is one variable without a default, and nothing beside it."""
    return _VARIABLE_ALONE.match(value) is not None and ":-" not in value


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    return {
        name: HIDDEN if is_secret(name) and not is_variable(value) else value
        for name, value in properties.items()
    }
