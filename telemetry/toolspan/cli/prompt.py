"""
`toolspan prompt`: the block for an agent's system prompt.
"""

import click

from toolspan.cli._options import debug_option
from toolspan.envelopes.prompt import PROMPT


@click.command("prompt")
@debug_option
def prompt() -> None:
    """
    Print what an agent's system prompt says of failed calls.

    Six lines: what to do about each class, and to make nothing up. In Python they are toolspan.PROMPT.
    """
    click.echo(PROMPT, nl=False)
