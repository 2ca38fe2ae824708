"""`tidelog completion`: the script that teaches a shell to complete commands, options and topic names."""

import click

from tidelog.cli.exits import CliError
from tidelog.cli.session import Session, json_option, pass_session

INSTALL = {
    "bash": 'eval "$(tidelog completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(tidelog completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "tidelog completion fish > ~/.config/fish/completions/tidelog.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(INSTALL)))
@json_option
@pass_session
def completion(session: Session, shell: str) -> None:
    """Print a shell completion script.

    \b
    eval "$(tidelog completion bash)"   # in ~/.bashrc
    eval "$(tidelog completion zsh)"    # in ~/.zshrc, after compinit
    tidelog completion fish > ~/.config/fish/completions/tidelog.fish
    """
    from click.shell_completion import get_completion_class

    from tidelog.cli.main import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise CliError(f"click offers no completion for {shell}.")
    script = kind(cli, {}, "tidelog", "_TIDELOG_COMPLETE").source()
    if session.json:
        import json

        print(json.dumps({"shell": shell, "script": script, "install": INSTALL[shell]}))
    else:
        print(script)
