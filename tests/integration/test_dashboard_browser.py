"""
The dashboard in a real browser: links, filters in the URL, refresh, and numbers as `toolspan report` has them.

AppTest keeps parameters of the URL that a real change of page drops, so what is about them is looked at here.
"""

import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests import otlp_builder as build
from tests.dashboard_scenes import BAD_DATE, all_well, calls_of, vague_field
from tests.integration.browsers import Window, chromium, dashboard_of
from tests.lock_holders import OtherProcess
from tests.stored import EXAMPLE
from toolspan_dashboard.words import percent

#: What of each page is there when all of it is.
PAGES = {
    "Overview": '[data-table="tools"]',
    "Tool": "text=Choose a tool, or take one",
    "Task": '[data-table="worst"]',
    "Quality of errors": '[data-table="unhandled"]',
    "Compare": '[data-table="compared"]',
    "Pipeline": '[data-table="intake"]',
}
#: A name as a client could make it up.
EVIL = '<img src=x onerror="window.hacked=1">[x](javascript:window.hacked=1):red[x]'


def ingest(store: Path, file: Path) -> None:
    """
    Adds the spans of *file*, in a process of its own as an agent would be.
    """
    command = [sys.executable, "-m", "toolspan", "ingest", str(file), "--store", str(store)]
    subprocess.run(command, check=True, capture_output=True)


def write(path: Path, spans: Iterator[dict[str, object]]) -> Path:
    """
    *spans* in a file.
    """
    path.write_bytes(build.json_line(spans))
    return path


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """
    One browser for all.
    """
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    A store of the example.
    """
    path = tmp_path_factory.mktemp("example") / "example.duckdb"
    ingest(path, EXAMPLE)
    return path


@pytest.fixture(scope="module")
def url(store: Path, browser: Browser) -> Generator[str]:
    """
    The dashboard of the example; the browser is asked for first, so that nothing starts where there is none.
    """
    del browser
    with dashboard_of(store) as url:
        yield url


@pytest.fixture
def window(browser: Browser) -> Generator[Window]:
    """
    A new window; nothing may go wrong in it.
    """
    window = Window(browser)
    yield window
    window.page.close()

    assert [] == window.faults


class TestPages:
    def test_are_all_to_be_reached_with_the_filters_kept(self, window: Window, url: str) -> None:
        """
        From the navigation, one after the other, and back with the browser's button.
        """
        window.go(f"{url}/?range=all&agent=travel_agent", until=PAGES["Overview"])
        for name, sign in PAGES.items():
            window.page.get_by_role("link", name=name, exact=True).click()
            window.page.wait_for_selector(sign)
            window.page.wait_for_function("location.search.includes('range=all')")
            window.picture(name.lower().replace(" ", "-"))
            assert "agent=travel_agent" in window.page.url

        window.page.go_back()
        window.page.wait_for_selector(PAGES["Compare"])

        assert "range=all" in window.page.url

    def test_show_what_the_links_of_others_say(self, window: Window, url: str) -> None:
        """
        From a finding to its tool, from there to the tasks, from there to one task, each a URL that can be passed on.
        """
        window.go(f"{url}/?range=all", until=PAGES["Overview"])
        window.page.get_by_role("link", name="All about book_room").first.click()
        window.page.wait_for_selector('[data-table="actions"]')
        tool_url = window.page.url
        window.page.get_by_role("link", name="The tasks in which it did most damage").click()
        window.page.wait_for_selector('[data-table="worst"]')
        window.page.locator('[data-table="worst"] a').first.click()
        window.page.wait_for_selector('[data-table="calls"]')

        assert f"{url}/tool?range=all&tool=book_room" == tool_url
        assert "book_room" in str(window.table("calls"))

        other = Window(window.page.context.browser) if window.page.context.browser else window
        other.go(window.page.url, until='[data-table="calls"]')

        assert window.table("calls") == other.table("calls")

    def test_are_there_for_a_link_that_is_the_first_to_be_opened(self, window: Window, store: Path) -> None:
        """
        From an alert, of a dashboard that nobody has opened before: Streamlit has pages of its own kind until then.
        """
        with dashboard_of(store) as url:
            window.go(f"{url}/tool?range=all&tool=book_room", until='[data-table="actions"]')
            names = window.page.get_by_test_id("stSidebarNav").get_by_role("link").all_inner_texts()
            window.page.goto("about:blank")

        assert list(PAGES) == [name.splitlines()[-1] for name in names]  # an icon is a word, too

    def test_follow_a_filter_into_the_url(self, window: Window, url: str) -> None:
        """
        Chosen with the keyboard alone, kept when the page is loaded again.
        """
        window.go(f"{url}/?range=all", until=PAGES["Overview"])
        chooser = window.page.get_by_role("combobox", name="Agent")
        chooser.focus()
        window.page.keyboard.type("travel")
        window.page.get_by_role("option", name="travel_agent").first.wait_for()
        window.page.keyboard.press("Enter")
        window.page.wait_for_function("location.search.includes('agent=travel_agent')")
        window.page.reload()
        window.page.wait_for_selector(PAGES["Overview"])

        assert "agent=travel_agent" in window.page.url

    def test_say_what_a_filter_of_the_url_leaves(self, window: Window, url: str) -> None:
        """
        A value that the store does not have is not dropped: it chooses nothing.
        """
        window.go(f"{url}/?range=all&agent=nobody", until="text=No tool was called")
        window.page.get_by_role("link", name="Show everything there is").click()
        window.page.wait_for_selector(PAGES["Overview"])

        assert "agent" not in window.page.url

    def test_are_reached_by_the_keyboard(self, window: Window, url: str) -> None:
        """
        A link in a table has the focus, and Enter follows it.
        """
        window.go(f"{url}/?range=all", until=PAGES["Overview"])
        window.page.locator('[data-table="tools"] a').first.focus()
        window.page.keyboard.press("Enter")
        window.page.wait_for_selector('[data-table="numbers"]')

        assert "tool=search_flights" in window.page.url

    def test_are_dark_where_the_browser_is(self, browser: Browser, url: str) -> None:
        """
        Text and pictures with it.
        """
        window = Window(browser, color_scheme="dark")
        window.go(f"{url}/?range=all", until=PAGES["Overview"])

        red, green, blue = window.page.evaluate(
            "getComputedStyle(document.querySelector('[data-table=tools]')).color.match(/\\d+/g).slice(0, 3)"
        )
        window.picture("overview-dark")
        window.page.close()

        assert min(int(red), int(green), int(blue)) > 150


class TestNumbers:
    def test_are_those_of_the_report(self, window: Window, url: str, store: Path) -> None:
        """
        Read out of the page, cell by cell.
        """
        command = [sys.executable, "-m", "toolspan", "report", "--store", str(store), "--format", "json"]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        window.go(f"{url}/?range=all", until=PAGES["Overview"])

        assert [row_of(name, tool) for name, tool in report["tools"].items()] == [
            [row[0], row[1], row[3], row[5], row[6], row[7]] for row in window.table("tools")
        ]
        assert f"{report['tasks']['total']} tasks: 55 resolved, 25 escalated." in window.page.inner_text("body")

    def test_of_one_tool_are_those_of_the_report(self, window: Window, url: str, store: Path) -> None:
        """
        Durations, fields and codes, too.
        """
        command = [sys.executable, "-m", "toolspan", "report", "--store", str(store), "--format", "json"]
        tools = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["tools"]
        tool = tools["search_flights"]
        window.go(f"{url}/tool?range=all&tool=search_flights", until='[data-table="attempts"]')

        [numbers] = window.table("numbers")
        assert str(tool["damage"]) == numbers[0]
        assert f"{tool['duration_ms']['p50']:g} ms, p95 {tool['duration_ms']['p95']:g} ms" == numbers[5]
        lost = tool["detail"]["recovery_by_field"]["date"]
        expected = ["date", str(lost["failures"]), str(lost["recovered"]), percent(lost["rate"]), str(lost["accepted"])]
        assert [expected] == window.table("fields")
        assert tool["codes"] == {row[0]: int(row[2]) for row in window.table("codes")}


def row_of(name: str, tool: dict[str, Any]) -> list[str]:
    """
    What the overview says of a tool, from the document of `report`.
    """
    recovery, escalations, broken = tool["validation_recovery"], tool["escalations"], tool["broken"]
    failed, unclassified = sum(tool["errors"].values()), tool["detail"]["unclassified_share"]
    per_task, per_step = tool["retries_per_resolved_task"], tool["retries"]["per_step"]
    retries = f"{per_step:.2f} a step"
    if per_task["mean"] is not None:
        retries = f"mean {per_task['mean']:.2f}, p95 {per_task['p95']}"
    cells = [
        name,
        str(tool["damage"]),
        f"{percent(failed / tool['calls'])} of {tool['calls']}"
        + (f" {percent(unclassified)} unclassified" if unclassified else ""),
        retries,
        _of(recovery["recovered"], recovery["failures"]),
        _of(escalations["without_prior_retry"], escalations["escalated"]),
    ]
    marks = {"retries_p95": 3, "retries_per_step": 3, "validation_recovery": 4, "clean_escalations": 5}
    for place in {marks[target] for target in broken}:
        cells[place] = f"▲ {cells[place]}"
    return cells


def _of(part: int, whole: int) -> str:
    return f"{percent(part / whole)} of {whole}" if whole else "-"


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Generator[tuple[Path, str]]:
    """
    A store that tests write to, and its dashboard.
    """
    del browser
    folder = tmp_path_factory.mktemp("living")
    store = folder / "living.duckdb"
    ingest(store, write(folder / "well.jsonl", all_well()))
    with dashboard_of(store) as url:
        yield store, url


class TestALivingStore:
    def test_is_refreshed_in_place_while_agents_write(
        self, window: Window, living: tuple[Path, str], tmp_path: Path
    ) -> None:
        """
        Without loading the page again, and without a word of locks.
        """
        store, url = living
        window.go(f"{url}/?range=all&refresh=1s", until=PAGES["Overview"])
        window.page.evaluate("window.isTheSame = true")
        ingest(store, write(tmp_path / "more.jsonl", vague_field()))
        window.page.wait_for_selector("text=search_flights hurts most")

        assert window.page.evaluate("window.isTheSame")
        assert 0 == window.page.get_by_text("in use by").count()

    def test_with_evil_names_shows_them_and_runs_nothing(
        self, window: Window, living: tuple[Path, str], tmp_path: Path
    ) -> None:
        """
        HTML, Markdown and Streamlit's own directives in the names of tools, codes, fields and tasks, on every page.
        """
        store, url = living
        ingest(store, write(tmp_path / "evil.jsonl", evil_spans()))
        for path, sign in (
            ("/?range=all", PAGES["Overview"]),
            ("/task?range=all&of=x", '[data-table="worst"]'),
            ("/quality?range=all", "text=Envelope lint"),
            ("/compare?range=all", PAGES["Compare"]),
        ):
            window.go(f"{url}{path}", until=sign)
            assert [0, None] == self.harm(window)
        window.go(f"{url}/?range=all", until=PAGES["Overview"])
        link = window.page.locator('[data-table="tools"] a').filter(has_text="<img")
        shown = link.inner_text()
        link.click()
        window.page.wait_for_selector('[data-table="numbers"]')
        assert [0, None] == self.harm(window)
        window.page.get_by_role("link", name="Example 1").first.click()
        window.page.wait_for_selector('[data-table="calls"]')

        assert [0, None] == self.harm(window)
        assert shown.startswith("<img src=x onerror=")

    def harm(self, window: Window) -> list[object]:
        """
        Elements that names have made, and what their script has done.
        """
        made = window.page.locator("img[onerror], a[href^='javascript']").count()
        return [made, window.page.evaluate("window.hacked ?? null")]

    def test_that_is_held_says_that_it_is_waited_for(self, window: Window, living: tuple[Path, str]) -> None:
        """
        First that it is asked, then by whom it is held; and shows it by itself when it is free.
        """
        store, url = living
        with OtherProcess() as holder:
            holder.take(store, exclusive=True)
            window.page.goto(f"{url}/?range=1h&refresh=1s")
            window.page.wait_for_selector("text=Asking the store")
            window.page.wait_for_selector("text=is in use by")
            holder.release()
            window.page.wait_for_selector("text=No tool was called")


def evil_spans() -> Iterator[dict[str, object]]:
    """
    Tasks whose every name is evil.
    """
    error = {**BAD_DATE, "field": EVIL, "hint": EVIL}
    for trace in range(801, 806):
        yield from calls_of(trace, EVIL, [error, error, None], ['{"a": 1}', '{"a": 2}', '{"a": 3}'], name=EVIL)
