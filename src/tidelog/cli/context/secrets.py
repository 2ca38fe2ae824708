"""Client properties as a person may see them: a secret is hidden, a variable in its place is shown."""

import re
from collections.abc import Mapping

from tidelog.blocking.secret_names import is_secret_name

HIDDEN = "********"
_VARIABLE_ALONE = re.compile(r"\$\{(env|file):[^}]*\}\Z")


def is_variable(value: str) -> bool:
    """Whether the value is one variable without a default, and nothing beside it."""
    return _VARIABLE_ALONE.match(value) is not None and ":-" not in value


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    return {
        name: HIDDEN if is_secret_name(name) and not is_variable(value) else value
        for name, value in properties.items()
    }
