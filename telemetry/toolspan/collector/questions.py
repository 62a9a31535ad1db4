"""
What passes between the API and who answers: a question that was checked, an answer, and how the two are described.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Protocol

from toolspan.collector.asking import Asked
from toolspan.collector.writing import WriterState
from toolspan.config import Settings
from toolspan.store import PruneResult

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from duckdb import DuckDBPyConnection

JSON: Final = "application/json"
TEXT: Final = "text/plain"
JSON_LINES: Final = "application/jsonl"
ARROW: Final = "application/vnd.apache.arrow.stream"
DUCKDB: Final = "application/vnd.duckdb"
#: JSON Schema, of which what is in it is anything.
Schema = Mapping[str, Any]


class Readable(Protocol):
    """
    The store that is asked.
    """

    path: Path

    def reading(self) -> "AbstractContextManager[DuckDBPyConnection]":
        """
        A cursor that sees one moment.
        """
        ...

    def overdue(self) -> int:
        """
        How many tasks are over and not settled.
        """
        ...

    def prune(self, before_ns: int, /) -> PruneResult:
        """
        Deletes old tasks.
        """
        ...

    def snapshot(self, target: Path, /) -> None:
        """
        Copies the store.
        """
        ...


class Context(NamedTuple):
    """
    What answers come from.
    """

    store: Readable
    state: Callable[[], WriterState]
    settings: Settings


class Question(NamedTuple):
    """
    A request: its parameters, what its path names, its body, and which media types are accepted.
    """

    asked: Asked
    path: Mapping[str, str]
    body: object
    accept: str


class Answer(NamedTuple):
    """
    A response: bytes, or a *file* that is sent and closed; *headers* beside what follows from these.
    """

    body: bytes
    media_type: str = JSON
    status: int = 200
    file: BinaryIO | None = None
    headers: Mapping[str, str] = MappingProxyType({})


class Parameter(NamedTuple):
    """
    A parameter of the query, or of the path, with its JSON Schema.
    """

    name: str
    what: str
    schema: Schema
    is_of_path: bool = False


class Load(Enum):
    """
    What an answer costs: nothing worth counting, a look at the store, or a pass over all of it.
    """

    NONE = "none"
    QUERY = "query"
    WHOLE = "whole"


class Operation(NamedTuple):
    """
    Something that can be asked: *path* as OpenAPI writes it, *route* as the router does.

    Parameters that are not known are wrong, unless it *ignores_others*.
    """

    name: str
    path: str
    summary: str
    answer: Callable[[Context, Question], Answer]
    answers: Mapping[str, Schema]
    parameters: Sequence[Parameter] = ()
    method: str = "GET"
    route: str = ""
    body: Schema | None = None
    failures: Sequence[int] = ()
    load: Load = Load.QUERY
    ignores_others: bool = False


class NotFoundError(Exception):
    """
    What was asked for is not there.
    """


def as_json(document: object, *, status: int = 200) -> Answer:
    """
    *document* as an answer.
    """
    return Answer(json.dumps(document, allow_nan=False).encode(), status=status)
