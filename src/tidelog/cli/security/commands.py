"""`tidelog security`: a table of its commands, each imported when it runs."""

import click

from tidelog.cli.lazy_group import Entry, LazyGroup

COMMANDS = {
    "init": Entry(
        "tidelog.cli.security.init",
        "init",
        "Make an authority, certificates, settings and the first user of a new cluster.",
    ),
    "cert": Entry("tidelog.cli.security.cert", "cert", "Issue, renew and show certificates."),
    "user": Entry("tidelog.cli.security.user", "user", "Add, change, delete and list users with passwords."),
    "check": Entry(
        "tidelog.cli.security.checks.command",
        "check",
        "Say what is open in a running cluster, why it matters, and what mends it.",
    ),
    "token": Entry(
        "tidelog.cli.security.token", "token", "Create, renew, expire and list delegation tokens."
    ),
}


@click.group(cls=LazyGroup, entries=COMMANDS, from_root=("acl", "role", "quota"))
def security() -> None:
    """Manage certificates, users and tokens, and check what is open.

    `tidelog security acl`, `role` and `quota` are the commands `tidelog acl`, `role` and `quota`.
    """
