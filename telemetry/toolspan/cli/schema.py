"""
`toolspan schema`: the JSON Schema of an envelope.
"""

import json

import click

from toolspan.cli._options import debug_option
from toolspan.envelopes.envelope_schema import envelope_schema


@click.command("schema")
@debug_option
def schema() -> None:
    """
    Print the JSON Schema of an envelope.

    Of 2020-12, with the rules between its keys.
    """
    click.echo(json.dumps(envelope_schema(), indent=2))
