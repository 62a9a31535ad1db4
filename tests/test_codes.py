"""
The registry of codes: what changed its class or meaning, is gone, or is new.
"""

import pytest

from toolspan.envelopes.codes import (
    CodeChange,
    CodeEntry,
    CodeKey,
    Registry,
    SeenCode,
    compare_registries,
    compare_seen,
    format_registry,
    parse_registry,
    with_seen,
)
from toolspan.errors import InputError

TEXT = """\
tool,code,class,meaning
book,SOLD_OUT,business_rule,"No seat is left in this fare, at this price"
search,DATE_FORMAT,validation,The date is not ISO 8601
search,TIMEOUT,transient,
"""
REGISTRY = parse_registry(TEXT, name="codes.csv")


def registry_of(**entries: tuple[str, str]) -> Registry:
    return Registry({CodeKey("book", code): CodeEntry(*entry) for code, entry in entries.items()})


def test_a_registry_is_written_as_it_is_read() -> None:
    """A file that is sorted comes back byte for byte."""
    assert TEXT == format_registry(REGISTRY)
    assert CodeEntry("validation", "The date is not ISO 8601", 3) == REGISTRY.entries[CodeKey("search", "DATE_FORMAT")]
    assert {"book", "search"} == REGISTRY.tools()


def test_an_unsorted_registry_is_sorted() -> None:
    """Order, space around values, empty lines and a byte-order mark say nothing."""
    lines = TEXT.splitlines(keepends=True)
    text = "\ufeff" + lines[0] + "search, TIMEOUT , transient,  \n\n" + lines[2] + lines[1]

    assert TEXT == format_registry(parse_registry(text, name="codes.csv"))


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("a,B_C", "line 2: 2 values where tool,code,class,meaning are; quote a meaning with commas"),
        (",B_C,fatal,", "line 2: the tool is missing"),
        ("a,b-c,fatal,", "line 2: code is 'b-c'; did you mean 'B_C'?"),
        (
            "a,B_C,deadly,",
            "line 2: class is 'deadly'; give one of transient, validation, permission, business_rule, fatal",
        ),
        ("a,UNCLASSIFIED,fatal,", "line 2: code 'UNCLASSIFIED' has a meaning of its own; remove the line"),
        ("a,B_C,fatal,\na,B_C,fatal,", "line 3: a has B_C on line 2 already; remove one"),
        ('a,B_C,fatal,"x', "line 2: unexpected end of data; see that every quotation mark is closed"),
    ],
)
def test_a_wrong_line_is_told(row: str, line: str) -> None:
    """A registry that is wrong is refused with the line and the remedy."""
    with pytest.raises(InputError) as refused:
        parse_registry(f"tool,code,class,meaning\n{row}\n", name="codes.csv")

    assert f"codes.csv {line}" == str(refused.value)


def test_another_file_is_no_registry() -> None:
    """A file without the header is refused; an empty one has no codes."""
    with pytest.raises(InputError, match=r"^x\.csv line 1: a registry of codes begins with tool,code,class,meaning$"):
        parse_registry("a,b\n", name="x.csv")

    assert Registry({}) == parse_registry("", name="x.csv")


def test_what_changes_breaks() -> None:
    """Another class, another meaning and a code that is gone break those who rely on it; a new code breaks nobody."""
    old = registry_of(AA=("fatal", "a"), BB=("fatal", "b"), CC=("fatal", "c"), DD=("fatal", ""), EE=("fatal", "e"))
    new = registry_of(AA=("transient", "a"), BB=("fatal", "x"), DD=("fatal", "d"), EE=("fatal", "e"), FF=("fatal", ""))

    changes = compare_registries(old, new)

    assert [
        CodeChange("class", "book", "AA", "fatal", "transient"),
        CodeChange("meaning", "book", "BB", "b", "x"),
        CodeChange("removed", "book", "CC", "fatal", ""),
        CodeChange("added", "book", "FF", "", "fatal"),
    ] == changes
    assert [True, True, True, False] == [change.is_breaking for change in changes]


SEEN = (
    SeenCode("book", "SOLD_OUT", "transient", 2),
    SeenCode("book", "SOLD_OUT", "business_rule", 5),
    SeenCode("book", "UNCLASSIFIED", "unclassified", 3),
    SeenCode("book", "REJECTED", "permission", 1),
    SeenCode("search", "DATE_FORMAT", "validation", 1),
    SeenCode("search", "NEW_ONE", "fatal", 1),
    SeenCode("search", "TWO_WAYS", "fatal", 1),
    SeenCode("search", "TWO_WAYS", "transient", 1),
)


def test_what_was_seen_is_held_against_the_registry() -> None:
    """A registered code with another class breaks, and so does one with two; one that is not registered is told."""
    changes = compare_seen(REGISTRY, SEEN)

    assert [
        CodeChange("class", "book", "SOLD_OUT", "business_rule", "transient", 2),
        CodeChange("unregistered", "search", "NEW_ONE", "", "fatal"),
        CodeChange("two_classes", "search", "TWO_WAYS", "", "fatal, transient"),
    ] == changes
    assert [True, False, True] == [change.is_breaking for change in changes]


def test_what_was_seen_is_added() -> None:
    """An update adds what has one class and changes nothing that is there."""
    new = CodeKey("search", "NEW_ONE")

    assert {**REGISTRY.entries, new: CodeEntry("fatal")} == with_seen(REGISTRY, SEEN).entries
