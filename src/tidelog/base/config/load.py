"""Static settings at start: a YAML file, then the environment over it, then flags over both.

Whatever is unknown or wrong is refused before anything runs, all of it at once. Values may be variables,
`${env:NAME}`, `${file:PATH}` and `${host:name}`; a problem names the variable, never the value that it gave.
"""

import os
from collections.abc import Iterable, Mapping
from os import PathLike

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.environment import read_environment
from tidelog.base.config.error import ConfigError, Problem
from tidelog.base.config.file import Given, read_settings_file
from tidelog.base.config.setting import Value, parse
from tidelog.base.listener_settings import find_broker_setting, why_unknown
from tidelog.base.topic_settings import TOPIC_SETTINGS
from tidelog.base.variables import (
    Unresolved,
    VariableSources,
    has_variables,
    machine_sources,
    resolve,
    without_values,
)


def load(
    file: str | PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    *,
    flags_origin: str = "--set",
) -> BrokerConfig:
    """A broker's configuration; ConfigError with file and line, variable or flag of each mistake."""
    problems: list[Problem] = []
    resolver = _Resolver(env or {}, problems)
    given: list[Given] = []
    if file is not None:
        given += resolver.resolved(read_settings_file(file, problems), os.path.dirname(file))
    given += resolver.resolved(read_environment(env or {}, problems))
    given += resolver.resolved(Given(name, text, flags_origin) for name, text in (flags or {}).items())
    try:
        values = _parse(given, problems)
        if problems:
            raise ConfigError(problems)
        return BrokerConfig(values, origins={name: where for name, _, where in given})
    except ConfigError as error:
        if not resolver.written:
            raise
        raise ConfigError([resolver.without_values(problem) for problem in error.problems]) from None


class _Resolver:
    def __init__(self, env: Mapping[str, str], problems: list[Problem]) -> None:
        self._env, self._problems = env, problems
        self.written: dict[str, str] = {}
        """What was written, by the value that its variables gave."""

    def resolved(self, given: Iterable[Given], directory: str = "") -> Iterable[Given]:
        """Leaves out settings whose variables have no value: these are problems of their own."""
        sources = machine_sources(directory, self._env)
        for each in given:
            try:
                yield each._replace(raw=self._value(each.raw, sources))
            except Unresolved as error:
                self._problems.append(Problem(each.name, str(error), each.where))

    def _value(self, raw: str | list[str], sources: VariableSources) -> str | list[str]:
        if isinstance(raw, list):
            return [self._text(item, sources) for item in raw]
        return self._text(raw, sources)

    def _text(self, raw: str, sources: VariableSources) -> str:
        if not has_variables(raw):
            return raw
        value = resolve(raw, sources)
        # Problems show values without the white space around them.
        self.written |= {value: raw, value.strip(): raw}
        return value

    def without_values(self, problem: Problem) -> Problem:
        return problem._replace(reason=without_values(problem.reason, self.written))


def _parse(given: Iterable[Given], problems: list[Problem]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, raw, where in given:
        setting = find_broker_setting(name)
        try:
            if setting is None:
                topic = TOPIC_SETTINGS.get(name)
                raise ValueError(why_unknown(name, topic.broker_synonyms[0] if topic else None))
            values[name] = parse(setting, raw, human=True)
        except ValueError as error:
            problems.append(Problem(name, str(error), where))
    return values
