"""A real Chromium, without a network, and pages made of reports."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

from patchkit.cli.rendering.html import render_html
from patchkit.core.upstream_report import UpstreamReport

Show = Callable[..., None]


def _found(*names: str) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def driver() -> Iterator[WebDriver]:
    browser, chromedriver = _found("chromium", "chromium-browser", "google-chrome"), _found("chromedriver")
    if browser is None or chromedriver is None:
        # Where the tests are run as a whole, a browser is part of it (tests/run.sh).
        assert not os.environ.get("PATCHKIT_BROWSER"), "there is no chromium with its chromedriver"
        pytest.skip("there is no chromium with its chromedriver (Debian: chromium, chromium-driver)")
    options = Options()
    options.binary_location = browser
    # Everything else than a file is out of reach: a page that asks for something fails.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1500,1000"):
        options.add_argument(argument)
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(chromedriver))
    yield started
    started.quit()


@pytest.fixture
def show(driver: WebDriver, tmp_path: Path) -> Iterator[Show]:
    """Open the page of a report; afterwards the browser must have had nothing to complain about."""

    def opened(report: UpstreamReport, address: str = "") -> None:
        file = tmp_path / "page.html"
        file.write_text(render_html(report), encoding="utf-8")
        driver.get("about:blank")
        driver.get(f"file://{file}{address}")

    yield opened
    assert driver.get_log("browser") == []  # type: ignore[no-untyped-call]  # selenium says nothing of it
