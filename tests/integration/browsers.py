"""
A real browser for tests, and the dashboard in a process of its own.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from toolspan.cli._dashboard_process import DashboardProcess, Site, free_site

PATIENCE_MS: Final = 60_000
_OPTIONS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
#: Streamlit looks for its own server below the path of each page first, and finds it above.
_LOOKED_FOR: Final = ("_stcore/health", "_stcore/host-config")


def require_chromium() -> str:
    """
    The path of Chromium; without it a test is skipped, and fails in CI.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        assert not os.environ.get("CI"), "chromium is missing"
        pytest.skip("needs Chromium: apt-get install chromium")
    return program


@contextmanager
def chromium() -> Generator[Browser]:
    """
    A headless browser.
    """
    program = require_chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def dashboard_of(store: Path | str) -> Generator[str]:
    """
    The dashboard of *store*; gives its address.
    """
    with DashboardProcess(str(store), free_site(Site("127.0.0.1", 0))) as process:
        process.await_ready()
        yield process.url


class Window:
    """
    A page of a browser, which notes what goes wrong in it.
    """

    def __init__(self, browser: Browser, *, color_scheme: str = "light") -> None:
        self.page: Page = browser.new_page(
            viewport={"width": 1400, "height": 900},
            color_scheme="dark" if color_scheme == "dark" else "light",
            timezone_id="Europe/Berlin",
        )
        self.page.set_default_timeout(PATIENCE_MS)
        self.faults: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("requestfailed", self._note_failure)

    def _note(self, message: ConsoleMessage) -> None:
        is_looking = any(part in (message.location or {}).get("url", "") for part in _LOOKED_FOR)
        if message.type == "error" and not is_looking:
            self.faults.append(message.text)

    def _note_failure(self, request: Request) -> None:
        # what a page had asked for when it was left
        if "ERR_ABORTED" not in (request.failure or ""):
            self.faults.append(f"{request.url}: {request.failure}")

    def go(self, url: str, *, until: str) -> None:
        """
        Opens *url*, and waits for the element *until*.
        """
        self.page.goto(url)
        self.page.wait_for_selector(until)

    def table(self, key: str) -> list[list[str]]:
        """
        The cells of the table *key*, row by row, as they are read.
        """
        rows = self.page.locator(f'[data-table="{key}"] tbody tr')
        return [
            [" ".join(cell.inner_text().split()) for cell in rows.nth(place).locator("th, td").all()]
            for place in range(rows.count())
        ]

    def picture(self, name: str) -> bytes:
        """
        What it looks like; kept where `TOOLSPAN_SCREENSHOTS` says, as CI does.
        """
        height = self.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        self.page.set_viewport_size({"width": 1400, "height": min(int(height) + 20, 4000)})
        folder = os.environ.get("TOOLSPAN_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
        return self.page.screenshot(path=str(Path(folder) / f"{name}.png") if folder else None)
