"""Principals on the command line: `User:NAME`."""

import click

from tidelog.base.errors import KafkaError
from tidelog.security.principal import parse_principal


class PrincipalParameter(click.ParamType[str]):
    name = "principal"

    def convert(self, value: object, parameter: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return str(parse_principal(str(value)))
        except KafkaError as error:
            self.fail(error.message, parameter, ctx)
