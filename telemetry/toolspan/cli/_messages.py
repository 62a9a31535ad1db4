"""
What a command says beside its answer: one line on standard error each.
"""

import click

from toolspan.cli._text import one_line


def say(line: str) -> None:
    """
    Says *line*, inert, after the program's name.
    """
    click.echo(f"toolspan: {one_line(line)}", err=True)
