"""
`toolspan codes`: the registry of a project, made of spans and held against them.
"""

import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.cli_runner import Cli, scene

HEADER = "tool,code,class,meaning\n"
SEEN = f"{HEADER}book,SOLD_OUT,business_rule,\nsearch_flights,DATE_FORMAT,validation,\n"
MEANT = f"{HEADER}book,SOLD_OUT,business_rule,No seat\nsearch_flights,DATE_FORMAT,validation,No date\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.delenv("TOOLSPAN_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    scene(tmp_path)
    return Cli(capsys)


def registry(text: str, name: str = "toolspan-codes.csv") -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def test_update_makes_a_registry(run: Cli) -> None:
    """The codes of spans become a file, sorted, that waits for meanings; doing it again changes nothing."""
    first = run("codes", "update", "scene.otlp.jsonl")
    made = Path("toolspan-codes.csv").read_text(encoding="utf-8")
    again = run("codes", "update", "scene.otlp.jsonl")

    assert (0, "2 codes added to toolspan-codes.csv. Write down what they mean.\n", "") == first
    assert (0, "0 codes added to toolspan-codes.csv.\n", "") == again
    assert SEEN == made == Path("toolspan-codes.csv").read_text(encoding="utf-8")
    assert {"toolspan-codes.csv", "scene.otlp.jsonl"} == {path.name for path in Path().iterdir()}


def test_update_changes_no_line(run: Cli) -> None:
    """What is registered stays, and a code that was seen with another class is for people to settle."""
    registry(f"{HEADER}book,SOLD_OUT,fatal,Ours\n", "c.csv")

    ran = run("codes", "update", "scene.otlp.jsonl", "--registry", "c.csv")

    assert f"{HEADER}book,SOLD_OUT,fatal,Ours\nsearch_flights,DATE_FORMAT,validation,\n" == Path("c.csv").read_text()
    out = (
        "! c.csv:2: book SOLD_OUT has class fatal and now business_rule.\n"
        "1 code added to c.csv. Write down what they mean.\n"
    )
    assert (1, out, "") == ran


def test_a_registry_that_agrees_passes(run: Cli) -> None:
    """Where spans show what is registered, the exit code is 0; meanings that are missing are counted."""
    registry(MEANT)
    registry(SEEN, "blank.csv")

    full = run("codes", "check", "scene.otlp.jsonl")
    blank = run("codes", "check", "scene.otlp.jsonl", "--registry", "blank.csv")

    assert (0, "2 registered codes, no breaking change.\n", "") == full
    assert (0, "2 registered codes, no breaking change; 2 without a meaning.\n", "") == blank


def test_a_new_code_is_said_and_strictly_fails(run: Cli) -> None:
    """A code that is not registered fails only where one asks for it."""
    registry(HEADER + "book,SOLD_OUT,business_rule,No seat\n")

    told = run("codes", "check", "scene.otlp.jsonl")
    strict = run("codes", "check", "scene.otlp.jsonl", "--strict")

    out = (
        "search_flights DATE_FORMAT is not registered; it was seen with class validation.\n"
        "1 registered code, no breaking change.\n"
    )
    assert (0, out, "") == told
    assert (1, out, "") == strict


def test_another_class_fails(run: Cli) -> None:
    """A code that spans show with another class breaks whoever relied on it."""
    registry(MEANT.replace("business_rule", "transient"))

    out = (
        "! toolspan-codes.csv:2: book SOLD_OUT has class transient and now business_rule.\n"
        "2 registered codes, 1 breaking change.\n"
    )
    assert (1, out, "") == run("codes", "check", "scene.otlp.jsonl")


def test_an_older_state_is_compared(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against an older registry a changed class or meaning and a missing code fail, without any spans."""
    registry(MEANT + "z,NEW_ONE,fatal,x\n")
    old = MEANT.replace("business_rule", "fatal").replace("No date", "Not a date") + "z,OLD_ONE,fatal,x\n"
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(old.encode())))

    ran = run("codes", "check", "--against", "-")

    assert (1, "") == (ran.status, ran.err)
    assert [
        "! toolspan-codes.csv:2: book SOLD_OUT has class fatal and now business_rule.",
        "! toolspan-codes.csv:3: search_flights DATE_FORMAT meant 'Not a date' and now 'No date'.",
        "! z OLD_ONE is gone; it had class fatal.",
        "toolspan-codes.csv:4: z NEW_ONE is new, class fatal.",
        "3 registered codes, 3 breaking changes.",
    ] == ran.out.splitlines()


def test_nothing_before_is_no_change(run: Cli) -> None:
    """The first commit of a registry has nothing to break."""
    registry(MEANT)
    registry("", "old.csv")

    assert 0 == run("codes", "check", "--against", "old.csv").status


def test_a_check_as_json(run: Cli) -> None:
    """With --format json the changes are data."""
    registry(MEANT.replace("business_rule", "transient"))

    ran = run("codes", "check", "scene.otlp.jsonl", "--format", "json")

    change = {
        "kind": "class",
        "tool": "book",
        "code": "SOLD_OUT",
        "before": "transient",
        "after": "business_rule",
        "line": 2,
        "breaking": True,
    }
    document = {"registry": "toolspan-codes.csv", "kept": False, "registered": 2, "seen": 2, "changes": [change]}
    assert (1, document) == (ran.status, json.loads(ran.out))


def test_codes_of_a_store_are_read(run: Cli) -> None:
    """A store shows the codes that the files showed, and --tool chooses among them."""
    run("ingest", "scene.otlp.jsonl", "--store", "s.duckdb")

    ran = run("codes", "update", "--store", "s.duckdb", "--tool", "book")

    assert (0, HEADER + "book,SOLD_OUT,business_rule,\n") == (ran.status, Path("toolspan-codes.csv").read_text())


NO_STORE = (
    "No toolspan.duckdb is here: give OTLP files (JSON lines, .pb, .gz), or - for standard input,"
    " or a store by --store."
)


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ((), "Missing command: check or update. (See toolspan codes --help.)"),
        (("chek",), "No such command 'chek'. Did you mean 'check'? (See toolspan codes --help.)"),
        (
            ("check", "scene.otlp.jsonl"),
            "No toolspan-codes.csv is here: toolspan codes update makes it from spans, or name one by --registry.",
        ),
        (("check", "--registry", "scene.otlp.jsonl"), NO_STORE),
        (("update",), NO_STORE),
        (
            ("check", "scene.otlp.jsonl", "--registry", "scene.otlp.jsonl"),
            "scene.otlp.jsonl line 1: a registry of codes begins with tool,code,class,meaning.",
        ),
    ],
)
def test_wrong_input_is_one_line(run: Cli, args: tuple[str, ...], line: str) -> None:
    """Wrong input gives one line and exit code 2."""
    assert (2, "", f"toolspan: {line}\n") == run("codes", *args)


def test_a_registry_that_cannot_be_written_is_told(run: Cli) -> None:
    """A folder that is not there costs nothing but the file."""
    ran = run("codes", "update", "scene.otlp.jsonl", "--registry", "no/such/codes.csv")

    assert (2, "") == (ran.status, ran.out)
    assert 1 == len(ran.err.splitlines())
