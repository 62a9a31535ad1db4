"""
Asking a query: the frames of its function, and what cannot be asked.
"""

import subprocess
import sys
from typing import Any

import duckdb
import pandas as pd
import pytest

import toolspan_queries
from tests.filled import empty_store, filled_store
from tests.query_scene import scene
from toolspan_queries import QueryError, fetch, names
from toolspan_queries import rows as of
from toolspan_queries._catalogue import ROWS


@pytest.fixture(scope="module")
def store() -> duckdb.DuckDBPyConnection:
    """
    A store of the scene.
    """
    return filled_store(scene())


class TestAsking:
    def test_for_a_dimension_that_is_none_names_those_there_are(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        One line.
        """
        with pytest.raises(QueryError, match=r"^Cannot group by 'tool'; there are agent, service and environment\.$"):
            fetch(store, of.Calls, **wrong(by="tool"))

    def test_with_an_unknown_name_lists_the_known(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        A misspelt filter is never taken for none.
        """
        with pytest.raises(QueryError, match=r"^Cannot ask for 'agnet'; there are since_ns, until_ns, tool, agent, "):
            fetch(store, of.Calls, **wrong(agnet="x"))

    def test_for_rows_of_no_query_is_refused(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        With where to look.
        """
        with pytest.raises(QueryError, match=r"take one of toolspan_queries\.rows\.$"):
            fetch(store, dict)


def wrong(**asked: Any) -> Any:
    """
    What type checkers would refuse.
    """
    return asked


class TestFrames:
    def test_cost_those_nothing_who_make_none(self) -> None:
        """
        pandas is imported with the first frame: a report must not wait for it.
        """
        said = "import sys, toolspan_queries; print({'duckdb', 'numpy', 'pandas'} & set(sys.modules))"

        assert (
            "set()"
            == subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.strip()
        )

    def test_have_the_columns_and_types_of_the_rows(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        A rate without cases is missing, a count never.
        """
        frame = toolspan_queries.validation_recovery(store)

        assert list(of.ValidationRecovery._fields) == list(frame.columns)
        assert ["str", "str", "int64", "int64", "float64"] == [str(kind) for kind in frame.dtypes[:5]]
        assert [True, False] == frame["rate"].isna().tolist()
        assert [0, 1] == frame["failures"].tolist()

    def test_of_nothing_have_them_too(self) -> None:
        """
        So that a chart of an empty store needs no case of its own.
        """
        empty, full = toolspan_queries.calls(empty_store()), toolspan_queries.calls(filled_store(scene()))

        assert (0, full.dtypes.tolist()) == (len(empty), empty.dtypes.tolist())

    @pytest.mark.parametrize("name", names())
    def test_say_what_the_rows_say(self, store: duckdb.DuckDBPyConnection, name: str) -> None:
        """
        One function per query.
        """
        frame: pd.DataFrame = getattr(toolspan_queries, name)(store, agent="planner", by="service")

        expected = pd.DataFrame(fetch(store, ROWS[name], agent="planner", by="service"), columns=frame.columns)
        pd.testing.assert_frame_equal(expected, frame, check_dtype=False)
