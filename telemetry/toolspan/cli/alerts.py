"""
`toolspan alerts`: the rule file for Prometheus.
"""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from toolspan.alerts import Links, rule_document
from toolspan.cli._options import config_option, debug_option
from toolspan.config import load_settings
from toolspan.errors import InputError

if TYPE_CHECKING:
    from yaml import Node, SafeDumper

_HEAD: Final = "# Printed by toolspan alerts, from [alerts] and [targets] of its configuration: change that.\n"
#: A longer line is folded, which PromQL does not mind.
_WIDTH: Final = 120


@click.command("alerts")
@click.option("--dashboard", metavar="URL", help="Where the dashboard is; else that of the configuration.")
@click.option("--runbooks", metavar="URL", help="Below what the pages of docs/runbooks are.")
@config_option
@debug_option
def alerts(dashboard: str | None, runbooks: str | None, config: str | None) -> None:
    """
    Print the alerts as a rule file for Prometheus.

    They judge the metrics of a collector as toolspan check --alerts judges a store: by [targets] and [alerts] of the
    configuration. Each has the name of the tool, and links to its runbook and to the dashboard.
    """
    settings = load_settings(environ=os.environ, config_path=config)
    links = Links(dashboard or settings.links.dashboard, runbooks or settings.links.runbooks)
    document = rule_document(settings.thresholds, settings.targets, links=links)
    click.echo(_HEAD + yaml_of(document), nl=False)


def yaml_of(document: dict[str, object]) -> str:
    """
    *document* as YAML, with a text of several lines as it is read.

    Raises:
        InputError: what writes YAML is not installed.
    """
    if find_spec("yaml") is None:
        from toolspan.store.connecting import install_command

        command = install_command("prometheus")
        raise InputError(f"To print rules takes a package that is not installed; {command} installs it.")
    import yaml

    class Dumper(yaml.SafeDumper):
        """
        A dumper that can be told of texts without telling every other.
        """

    Dumper.add_representer(str, _represent_text)
    text = yaml.dump(  # pyright: ignore[reportUnknownMemberType]  # the stubs leave the width open
        document, Dumper=Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True
    )
    return str(text)


def _represent_text(dumper: "SafeDumper", text: str) -> "Node":
    from yaml import ScalarNode

    del dumper
    return ScalarNode("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)
