"""What happened to each of the things that one command changes: all are reported, then the first failure."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.session import Session


def report(
    session: Session,
    kind: str,
    answers: Mapping[str, Any],
    done: str,
    error_of: Callable[[Any, str, Session], CliError],
    fine: Mapping[Exit, str] | None = None,
) -> None:
    """`answers` as `Cluster.ask` gives them; `kind` is a word such as Topic, `done` what a good answer means.

    `fine` names the failures that the person asked to overlook, each with the word that stands for it.
    """
    from confluent_kafka import KafkaError

    from tidelog.cli.connection import exit_for

    results: dict[str, str] = {}
    errors: list[CliError] = []
    for name, answer in answers.items():
        if not isinstance(answer, KafkaError):
            results[name] = done
        elif (forgiven := (fine or {}).get(exit_for(answer))) is not None:
            results[name] = forgiven
        else:
            results[name] = "failed"
            errors.append(error_of(answer, name, session))
    if session.json:
        failed = iter(errors)
        print_json(
            [
                {"name": name, "result": result} | (next(failed).as_json() if result == "failed" else {})
                for name, result in results.items()
            ]
        )
    else:
        for name, result in results.items():
            if result != "failed":
                print(f"{kind} '{name}' {'would be created' if result == 'valid' else result}.")
    for error in errors[1:]:
        print("\n".join(error.lines()), file=sys.stderr)
    if errors:
        raise errors[0]
