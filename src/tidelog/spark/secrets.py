"""Secrets on their way to Spark's data source: by reference, so that plans, logs and the UI never show them.

Spark keeps the options of sources and sinks in its plans, and prints these. A secret that is written as
`${env:…}` or `${file:…}` stays as it is until the data source connects; one that is written out moves to the
environment of this process, which Spark and its planning workers inherit.
"""

import os
from collections.abc import Mapping, MutableMapping
from typing import Any

from tidelog.base.variables import has_variables, machine_sources, resolve
from tidelog.blocking.secret_names import is_secret_name

PREFIX = "_TIDELOG_SECRET_"


def by_reference(
    options: Mapping[str, Any], environment: MutableMapping[str, str] | None = None
) -> dict[str, Any]:
    """Call it before Spark starts: a running JVM does not see what is added."""
    found = os.environ if environment is None else environment
    made = dict(options)
    for name, value in options.items():
        if is_secret_name(name) and isinstance(value, str) and value and not has_variables(value):
            made[name] = f"${{env:{_variable(value, found)}}}"
    return made


def by_value(options: Mapping[str, Any]) -> dict[str, Any]:
    """For Spark on another machine, which has neither our environment nor our files. Raises Unresolved."""
    sources = machine_sources()
    return {
        name: resolve(value, sources) if is_secret_name(name) and isinstance(value, str) else value
        for name, value in options.items()
    }


def _variable(value: str, environment: MutableMapping[str, str]) -> str:
    number = 1
    while environment.setdefault(f"{PREFIX}{number}", value) != value:
        number += 1
    return f"{PREFIX}{number}"
