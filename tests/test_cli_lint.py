"""
`toolspan lint`, `toolspan prompt` and `toolspan schema`: envelopes from the command line.
"""

import gzip
import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.cli_runner import BAD_DATE, SOLD_OUT, Cli
from toolspan.envelopes.envelope_schema import envelope_schema
from toolspan.envelopes.prompt import PROMPT
from toolspan.taxonomy import CLASSES

GOOD = '{"ok": true, "data": 1}'
BAD = '{"ok": false, "error": {"code": "no code", "class": "fatal"}}'
SAID = "code_invalid: code is 'no code'; did you mean 'NO_CODE'?"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    return Cli(capsys)


def put(name: str, *lines: str) -> Path:
    path = Path(name)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_good_envelopes_pass(run: Cli) -> None:
    """Envelopes that keep the rules are counted, and the exit code is 0."""
    put("e.jsonl", GOOD, BAD_DATE, "", SOLD_OUT)

    assert (0, "3 envelopes, no rule broken.\n", "") == run("lint", "e.jsonl")


def test_a_finding_has_its_line(run: Cli) -> None:
    """Each finding is a line with file and line of JSON lines, documents over lines, and arrays alike."""
    put("e.jsonl", GOOD, BAD)
    put("one.json", '{"ok": false,', ' "error": {', '   "class": "fatal",', '   "code": "no code"', "}}")
    put("array.json", "[", f"  {GOOD},", f"  {BAD}", "]", BAD)

    ran = run("lint", "e.jsonl", "one.json", "array.json")

    expected = [f"e.jsonl:2: {SAID}", f"one.json:4: {SAID}", f"array.json:3: {SAID}", f"array.json:5: {SAID}"]
    assert (1, [*expected, "4 findings on 4 lines, in 6 envelopes."]) == (ran.status, ran.out.splitlines())


def test_a_finding_as_json(run: Cli) -> None:
    """With --format json the findings are data."""
    put("e.jsonl", BAD)

    ran = run("lint", "e.jsonl", "--format", "json")

    finding = {
        "file": "e.jsonl",
        "line": 1,
        "rule": "code_invalid",
        "key": "code",
        "text": "is 'no code'; did you mean 'NO_CODE'?",
    }
    assert {"envelopes": 1, "findings": [finding], "unreadable": []} == json.loads(ran.out)
    assert 1 == ran.status


def test_what_is_no_json_is_said_and_the_rest_is_read(run: Cli) -> None:
    """A damaged line costs itself alone, and the exit code says that something was not read."""
    deep = "[" + '{"a": ' * 100_000
    put("e.jsonl", GOOD, "oops", BAD, '{"n": ' + "9" * 5000 + "}", GOOD)
    put("cut.json", "[", f"  {GOOD},")
    put("deep.json", deep)

    ran = run("lint", "e.jsonl", "cut.json", "deep.json")

    assert (2, [f"e.jsonl:3: {SAID}", "1 finding on 1 line, in 4 envelopes."]) == (ran.status, ran.out.splitlines())
    assert [
        "toolspan: e.jsonl:2: no JSON: expecting value; what follows it is read",
        "toolspan: e.jsonl:4: no JSON: a number in it is too long; what follows it is read",
        "toolspan: cut.json:3: no JSON: the array is not closed; what follows it is read",
        "toolspan: deep.json:1: no JSON: it is nested too deeply; what follows it is read",
    ] == ran.err.splitlines()


def test_only_damage_prints_no_verdict(run: Cli) -> None:
    """Where nothing could be read, nothing is said to keep the rules."""
    put("e.jsonl", "oops")

    ran = run("lint", "e.jsonl")

    assert (2, "") == (ran.status, ran.out)


def test_standard_input_and_gzip_are_read(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input, and gzip is inflated."""
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(BAD.encode())))
    Path("e.json.gz").write_bytes(gzip.compress(BAD.encode()))

    ran = run("lint", "-", "e.json.gz")

    assert [f"stdin:1: {SAID}", f"e.json.gz:1: {SAID}"] == ran.out.splitlines()[:2]


@pytest.mark.parametrize(
    "wrap",
    [
        "{0}",
        '{{"name": "search", "inputSchema": {0}}}',
        '{{"type": "function", "function": {{"name": "search", "parameters": {0}}}}}',
    ],
)
def test_a_field_is_held_against_the_schema(run: Cli, wrap: str) -> None:
    """--schema takes a JSON Schema, or the definition of a tool that has one."""
    schema = '{"type": "object", "properties": {"day": {"type": "string"}}}'
    put("schema.json", wrap.format(schema))
    put("e.jsonl", BAD_DATE)

    ran = run("lint", "e.jsonl", "--schema", "schema.json")

    line = "e.jsonl:1: field_unknown: field is 'date', but there is no argument 'date'; there are day."
    assert (1, line) == (ran.status, ran.out.splitlines()[0])


def test_codes_are_held_against_the_registry_and_each_other(run: Cli) -> None:
    """--registry wants codes registered; of one tool a code has one class."""
    put("codes.csv", "tool,code,class,meaning", "search,DATE_FORMAT,validation,")
    put("e.jsonl", BAD_DATE, SOLD_OUT, SOLD_OUT.replace("business_rule", "fatal"))

    ran = run("lint", "e.jsonl", "--registry", "codes.csv", "--tool", "search")

    before = "which had class 'business_rule' before"
    assert [
        "e.jsonl:2: code_unregistered: code is 'SOLD_OUT', which is not registered for search; add it.",
        "e.jsonl:3: code_unregistered: code is 'SOLD_OUT', which is not registered for search; add it.",
        f"e.jsonl:3: code_two_classes: class is 'fatal' for code 'SOLD_OUT', {before}; make it a new code.",
        "3 findings on 2 lines, in 3 envelopes.",
    ] == ran.out.splitlines()


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ((), "Nothing to read: give files of envelopes as JSON, or - for standard input."),
        (("empty.json",), "Nothing is in empty.json; give envelopes as JSON."),
        (("e.jso",), "No file e.jso; did you mean e.json?"),
        (("latin.json",), "latin.json line 2 is not UTF-8 text; save it as UTF-8."),
        (("cut.gz",), "Cannot read cut.gz: its gzip data is damaged or cut."),
        (
            ("e.json", "--schema", "e.json"),
            "e.json is no JSON Schema of a tool's input: it has no properties and no type.",
        ),
        (
            ("e.json", "--schema", "empty.json"),
            "empty.json is no JSON; give a tool's input JSON Schema.",
        ),
        (
            ("e.json", "--registry", "e.json"),
            "e.json line 1: a registry of codes begins with tool,code,class,meaning.",
        ),
    ],
)
def test_wrong_input_is_one_line(run: Cli, args: tuple[str, ...], line: str) -> None:
    """Wrong input gives one line and exit code 2."""
    put("e.json", GOOD)
    Path("empty.json").touch()
    Path("latin.json").write_bytes(b'{"ok": true,\n"data": "\xe4"}')
    Path("cut.gz").write_bytes(gzip.compress(GOOD.encode())[:-9])

    assert (2, "", f"toolspan: {line}\n") == run("lint", *args)


def test_a_name_cannot_act(run: Cli) -> None:
    """What stands in an envelope moves no cursor."""
    put("e.jsonl", '{"ok": false, "error": {"code": "\\u001b[2J", "class": "fatal"}}')

    assert "\x1b" not in run("lint", "e.jsonl").out


def test_the_prompt_has_six_lines(run: Cli) -> None:
    """The block has a line for each class, and one against made-up results."""
    ran = run("prompt")

    lines = PROMPT.splitlines()
    assert (0, PROMPT, "") == ran
    assert [*(f"error.class {name}" for name in CLASSES), '"ok"'] == [line.partition(":")[0] for line in lines]


def test_the_schema_is_printed(run: Cli) -> None:
    """The schema is that of an envelope, as JSON."""
    ran = run("schema")

    assert (0, "") == (ran.status, ran.err)
    assert envelope_schema() == json.loads(ran.out)
