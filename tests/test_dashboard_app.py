"""
The pages without a browser: what they say where there is nothing, and where a store cannot be had.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.cli_runner import Cli
from tests.dashboard_scenes import all_well, store_of, vague_field
from tests.lock_holders import OtherProcess
from tests.stored import EXAMPLE
from tests.stores import open_store
from toolspan_dashboard import entry, sources

APP = Path(entry.__file__).with_name("script.py")
Shown = Callable[..., AppTest]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """
    Shows the overview of a store.
    """
    monkeypatch.delenv("TOOLSPAN_CONFIG", raising=False)
    monkeypatch.delenv("TOOLSPAN_TOKEN", raising=False)
    st.cache_data.clear()
    st.cache_resource.clear()

    def show(store: Path | str, **choices: str) -> AppTest:
        monkeypatch.setenv("TOOLSPAN_STORE", str(store))
        app = AppTest.from_file(APP, default_timeout=60)
        for name, value in choices.items():
            app.query_params[name] = value
        return app.run()

    return show


def alerts(app: AppTest) -> list[str]:
    """
    What stands in boxes, whatever their colour.
    """
    return [each.value for kind in (app.error, app.warning, app.info) for each in kind]


class TestStates:
    def test_a_store_that_is_not_there_says_how_it_is_made(self, shown: Shown, tmp_path: Path) -> None:
        """
        And none is made.
        """
        store = tmp_path / "none.duckdb"

        app = shown(store)

        assert not app.exception
        [said] = alerts(app)
        assert "There is no store" in said
        assert "ingest FILE" in said
        assert not store.exists()

    def test_an_empty_store_says_what_to_send(self, shown: Shown, tmp_path: Path) -> None:
        """
        Guidance, and no table of nothing.
        """
        store = tmp_path / "empty.duckdb"
        open_store(store).hash_key()

        app = shown(store)

        assert not app.exception
        assert ["The store has no tasks yet."] == [said.partition(" Send")[0] for said in alerts(app)]

    def test_an_empty_window_says_what_there_is_elsewhere(self, shown: Shown, toolspan: Cli, tmp_path: Path) -> None:
        """
        With a link to all of it.
        """
        store = store_of(toolspan, tmp_path, all_well())

        app = shown(store, agent="nobody", range="all")

        [said] = alerts(app)
        assert "with agent nobody" in said
        assert "The store has 25 tasks." in said
        assert any(
            "range=all" in each.value and "agent" not in each.value for each in app.html if "ts-links" in each.value
        )

    def test_a_collector_that_is_not_there_is_one_line(self, shown: Shown) -> None:
        """
        With the address.
        """
        app = shown("http://127.0.0.1:1")

        assert not app.exception
        [said] = alerts(app)
        assert r"127\.0\.0\.1\:1" in said

    def test_a_store_that_others_hold_says_who(
        self, shown: Shown, toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Not DuckDB's words; the next refresh asks again.
        """
        monkeypatch.setattr(sources, "LOCK_S", 0.1)
        store = store_of(toolspan, tmp_path, all_well())
        with OtherProcess() as holder:
            holder.take(store, exclusive=True)
            app = shown(store)

        [said] = alerts(app)
        assert "is in use by toolspan other" in said
        assert "IO Error" not in said

    def test_an_unreadable_window_is_one_line(self, shown: Shown, toolspan: Cli, tmp_path: Path) -> None:
        """
        In the words of the command line.
        """
        app = shown(store_of(toolspan, tmp_path, all_well()), range="soon")

        [said] = alerts(app)
        assert "Cannot read the time" in said

    def test_another_kind_of_store_is_named(self, shown: Shown) -> None:
        """
        What this build has.
        """
        [said] = alerts(shown("clickhouse://x"))

        assert "DuckDB files and collectors" in said


class TestOverview:
    def test_begins_with_the_worst(self, shown: Shown, toolspan: Cli, tmp_path: Path) -> None:
        """
        In one sentence, then what to change.
        """
        app = shown(store_of(toolspan, tmp_path, vague_field(), all_well()), range="all")

        said = [each.value for each in app.markdown]
        assert said[0].startswith(r"### 1 of 2 tools miss a target. search\_flights hurts most")
        assert any("**What to change** Say in the description of `date`" in each for each in said)

    def test_says_that_spans_were_lost(self, shown: Shown, toolspan: Cli, tmp_path: Path) -> None:
        """
        On every page, whatever is shown below.
        """
        store = store_of(toolspan, tmp_path, all_well())
        open_store(store, clock=time.time_ns).count({"dropped": 3})

        app = shown(store, range="all")

        [said] = [each.value for each in app.warning]
        assert "3 spans" in said
        assert "dropped before they were kept" in said

    def test_says_nothing_of_loss_where_there_is_none(self, shown: Shown, toolspan: Cli, tmp_path: Path) -> None:
        """
        A banner that always stands is not read.
        """
        store = tmp_path / "s.duckdb"
        assert 0 == toolspan("ingest", EXAMPLE, "--store", store).status

        assert not shown(store, range="all").warning


class TestLogin:
    def test_shows_nothing_to_who_is_not_known(
        self, shown: Shown, toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Neither numbers nor names.
        """
        monkeypatch.setenv("TOOLSPAN_DASHBOARD_LOGIN", "1")

        app = shown(store_of(toolspan, tmp_path, vague_field()), range="all")

        [said] = alerts(app)
        assert "none is set up" in said
        assert not app.markdown
        assert not app.selectbox
