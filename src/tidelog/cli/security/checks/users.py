"""Users whose passwords are easier to guess than need be, from what the cluster stores of them."""

from collections.abc import Iterable, Iterator

from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.security.credentials import ITERATIONS, ListedUser


def check_users(users: Iterable[ListedUser]) -> Iterator[CheckFinding]:
    for user in users:
        fewest = min(user.iterations.values(), default=ITERATIONS)
        if fewest < ITERATIONS:
            yield CheckFinding(
                "few-iterations",
                Severity.LOW,
                f"user '{user.name}'",
                f"the password is hashed with {fewest} rounds",
                "with a stolen copy of the metadata, a weak password is found sooner.",
                f"tidelog security user passwd {user.name}, which uses {ITERATIONS}",
            )
