"""
`toolspan lint`: whether envelopes that tools wrote down keep the rules.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from toolspan.cli._json_texts import JsonText, NoJson, json_texts, read_text
from toolspan.cli._messages import say
from toolspan.cli._options import debug_option, format_option
from toolspan.cli._text import counted, one_line, sentence
from toolspan.errors import InputError
from toolspan.evidence.payloads import is_object
from toolspan.framing.source import display_name

if TYPE_CHECKING:
    from toolspan.envelopes.codes import Registry
    from toolspan.envelopes.linting import LintFinding

_FAILED: Final = 1
_USAGE: Final = 2
#: Where the definition of a tool has its input schema: of MCP, Anthropic, OpenAI.
_SCHEMA_KEYS: Final = ("inputSchema", "input_schema", "parameters")
_TWO_CLASSES: Final = "code_two_classes"


class Found(NamedTuple):
    """
    A finding and where it is.
    """

    file: str
    line: int
    finding: "LintFinding"


class Linted(NamedTuple):
    """
    What became of all files: how many *envelopes* there were, what was *found*, and which lines are *unreadable*.
    """

    envelopes: int
    found: Sequence[Found]
    unreadable: Sequence[str]


@click.command("lint")
@click.argument("files", metavar="FILE...", nargs=-1)
@click.option("--schema", metavar="FILE", help="The tool's input JSON Schema, or its definition: field must be in it.")
@click.option("--registry", metavar="FILE", help="Registered codes (toolspan codes): each code must be one of them.")
@click.option("--tool", metavar="N", help="All envelopes are this tool's; a code may then have one class only.")
@format_option("text", "json")
@debug_option
def lint(files: Sequence[str], schema: str | None, registry: str | None, tool: str | None, output: str) -> None:
    """
    Whether envelopes that tools wrote down keep the rules; exit 1 when one breaks any.

    Exit 2 where something cannot be read; the rest is. FILE holds envelopes as JSON: one, an array, or one per line; -
    is standard input. Results of MCP and of frameworks that wrap an envelope are opened.
    """
    if not files:
        raise InputError("Nothing to read: give files of envelopes as JSON, or - for standard input.")
    linted = _lint(files, schema=_schema(schema), registry=_registry(registry), tool=tool)
    if output == "json":
        click.echo(json.dumps(document_of(linted), indent=2))
    else:
        for line in finding_lines(linted):
            click.echo(line)
    for line in linted.unreadable:
        say(line)
    if linted.unreadable:
        raise click.exceptions.Exit(_USAGE)
    if linted.found:
        raise click.exceptions.Exit(_FAILED)


def _lint(
    files: Sequence[str], *, schema: Mapping[str, object] | None, registry: "Registry | None", tool: str | None
) -> Linted:
    from toolspan.envelopes.linting import lint_envelope

    envelopes = 0
    found: list[Found] = []
    unreadable: list[str] = []
    classes: dict[object, object] = {}
    for file in files:
        name = display_name(file)
        for read in json_texts(read_text(file)):
            if isinstance(read, NoJson):
                unreadable.append(f"{name}:{read.line}: no JSON: {read.reason}; what follows it is read")
                continue
            envelopes += 1
            findings = lint_envelope(read.value, schema=schema, registry=registry, tool=tool)
            if tool is not None:
                findings += _two_classes(read, classes)
            found += (Found(name, read.line_of(finding.key), finding) for finding in findings)
    if not envelopes and not unreadable:
        raise InputError(f"Nothing is in {', '.join(map(display_name, files))}; give envelopes as JSON.")
    return Linted(envelopes, found, unreadable)


def _two_classes(read: JsonText, classes: dict[object, object]) -> Iterator["LintFinding"]:
    """
    That a code has another class than it had before, by *classes*, which learns it.
    """
    from toolspan.envelopes.linting import LintFinding, find_envelope

    error = (find_envelope(read.value) or {}).get("error")
    if is_object(error) and isinstance(code := error.get("code"), str):
        first = classes.setdefault(code, error.get("class"))
        if first != error.get("class"):
            text = f"is {error.get('class')!r} for code {code!r}, which had class {first!r} before; make it a new code"
            yield LintFinding(_TWO_CLASSES, "class", text)


def _schema(file: str | None) -> Mapping[str, object] | None:
    if file is None:
        return None
    name = display_name(file)
    try:
        document: object = json.loads(read_text(file))
    except (ValueError, RecursionError):
        raise InputError(f"{name} is no JSON; give a tool's input JSON Schema") from None
    function = document.get("function") if is_object(document) else None
    schema = function if is_object(function) else document
    if is_object(schema):
        schema = next((schema[key] for key in _SCHEMA_KEYS if is_object(schema.get(key))), schema)
    if not is_object(schema) or not schema.keys() & {"properties", "type", "$ref", "allOf", "anyOf", "oneOf"}:
        raise InputError(f"{name} is no JSON Schema of a tool's input: it has no properties and no type")
    return schema


def _registry(file: str | None) -> "Registry | None":
    from toolspan.envelopes.codes import parse_registry

    return None if file is None else parse_registry(read_text(file), name=display_name(file))


def finding_lines(linted: Linted) -> Iterator[str]:
    """
    A line for each finding, and how many there are.
    """
    for file, line, finding in linted.found:
        yield f"{file}:{line}: {finding.rule}: {sentence(one_line(f'{finding.key} {finding.text}'.strip()))}"
    envelopes = counted(linted.envelopes, "envelope")
    if not linted.found:
        if linted.envelopes:
            yield f"{envelopes}, no rule broken."
        return
    places = len({(each.file, each.line) for each in linted.found})
    yield f"{counted(len(linted.found), 'finding')} on {counted(places, 'line')}, in {envelopes}."


def document_of(linted: Linted) -> Mapping[str, object]:
    """
    *linted* as JSON has it.
    """
    findings = [{"file": each.file, "line": each.line, **each.finding._asdict()} for each in linted.found]
    return {"envelopes": linted.envelopes, "findings": findings, "unreadable": list(linted.unreadable)}
