"""
`toolspan completion`: the script that makes a shell complete `toolspan`.
"""

import click
from click.shell_completion import get_completion_class

from toolspan.cli._options import debug_option


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """
    Print the completion script of a shell.

    \b
    bash:  eval "$(toolspan completion bash)"            in ~/.bashrc
    zsh:   eval "$(toolspan completion zsh)"             in ~/.zshrc
    fish:  toolspan completion fish > ~/.config/fish/completions/toolspan.fish
    """
    completer = get_completion_class(shell)
    if completer is not None:
        program = context.find_root()
        click.echo(completer(program.command, {}, "toolspan", "_TOOLSPAN_COMPLETE").source())
