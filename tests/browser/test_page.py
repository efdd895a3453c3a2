"""The page of check-upstream in a real browser, from a file, without a network."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from patchkit.core.carry_report import DriftReport

from .conftest import Show
from .reports import DIFF, HOSTILE, MIXED, hunk, patch, report, target


def shown_rows(driver: WebDriver) -> list[str]:
    rows = driver.find_elements(By.CSS_SELECTOR, "tr[data-hunk]")
    return [row.get_attribute("data-hunk") or "" for row in rows if row.is_displayed()]


def shown_targets(driver: WebDriver) -> list[str]:
    shown = [each for each in driver.find_elements(By.CSS_SELECTOR, "thead th") if each.is_displayed()]
    return [(each.find_elements(By.CLASS_NAME, "name") or [each])[0].text for each in shown]


def cell(driver: WebDriver, place: str) -> WebElement:
    return driver.find_element(By.CSS_SELECTOR, f'a[data-place="{place}"]')


def press(driver: WebDriver, *keys: str) -> None:
    for key in keys:
        driver.switch_to.active_element.send_keys(key)


def focused(driver: WebDriver) -> str | None:
    return driver.switch_to.active_element.get_attribute("data-place")


def panel(driver: WebDriver) -> WebElement:
    return driver.find_element(By.ID, "panel")


def test_the_matrix_has_a_row_a_hunk_and_a_column_a_target(driver: WebDriver, show: Show) -> None:
    show(MIXED)
    assert shown_targets(driver) == ["hunk", "v1.0", "v1.1", "v2.0", "main"]
    assert shown_rows(driver) == ["grads", "docs", "old-only", "params"]
    row = driver.find_element(By.CSS_SELECTOR, 'tr[data-hunk="docs"]')
    assert [each.text for each in row.find_elements(By.TAG_NAME, "td")] == ["=", "~", "r", ""]
    assert driver.title == "broken: check-upstream of patches/megatron"
    header = driver.find_element(By.TAG_NAME, "header").text
    for text in (
        "4 targets, 2 patches: core_v1.0 has moved; 1 broken, 1 unreachable, 2 fine",
        "core_v1.0 has moved",
        "find out why",
        "the clone is shallow",
    ):
        assert text in header


def test_a_column_is_as_wide_as_any_other_whatever_is_said_of_its_target(driver: WebDriver, show: Show) -> None:
    flags: tuple[dict[str, Any], ...] = ({}, {"yanked": "broken"}, {"listed": False, "moved": True})
    targets = [target(f"{number}.0", patch("grads", hunk("grads")), **flags[number % 3]) for number in range(31)]
    show(report(*targets))
    heads = driver.find_elements(By.CSS_SELECTOR, "thead th")[1:]

    assert [head.text for head in heads[:3]] == ["v0.0", "v1.0 yanked", "v2.0 moved unlisted"]
    assert len({round(head.rect["width"]) for head in heads}) == 1
    assert heads[-1].rect["width"] < 40


def test_no_change_of_a_scope_is_broken_as_long_as_a_line_has_room_for_it(driver: WebDriver, show: Show) -> None:
    names = [f"self.buffer_of_the_model.take-{number:02}-and-more" for number in range(40)]
    drift = DriftReport("Buffer.f", ("calls",), "", "", calls_added=tuple(names))
    show(report(target("1.0", patch("grads", hunk("grads", "moved", "look", drift=(drift,))))))
    cell(driver, "grads/grads@1.0").click()
    changes = panel(driver).find_elements(By.CSS_SELECTOR, ".changes span")

    assert [change.text for change in changes] == [f"+{name}()" for name in names]
    line = changes[0].rect["height"]
    assert {change.rect["height"] for change in changes} == {line}
    assert line < 30


def test_a_click_opens_reason_drift_commits_sides_and_diff(driver: WebDriver, show: Show) -> None:
    show(MIXED)
    cell(driver, "grads/grads@2.0").click()
    text = panel(driver).text
    assert panel(driver).find_element(By.TAG_NAME, "h2").text == "grads/grads on v2.0"
    for part in (
        "conflict: both sides changed these lines",
        "next: explain it",
        "def f(self, more)",
        "unbound line 7: nothing binds name",
        "abc1234 Rewrite the buffer (#42)",
        "base line",
        "patch line",
        "upstream line",
        "-old\n+new",
    ):
        assert part in text
    sides = panel(driver).find_elements(By.CSS_SELECTOR, ".sides pre")
    assert [str(each.get_property("textContent")).rstrip() for each in sides] == [
        "    base line",
        "patch line\n    more",
        "    upstream line",
    ]
    link = panel(driver).find_element(By.LINK_TEXT, "#42")
    assert link.get_attribute("href") == "https://example.org/megatron/pull/42"


@pytest.mark.parametrize(
    ("verdict", "rows"),
    [("conflict", ["grads"]), ("broken", ["grads"]), ("look", ["docs", "params"]), ("moved", ["docs"]), ("", None)],
)
def test_rows_are_filtered_by_verdict_and_state(
    driver: WebDriver, show: Show, verdict: str, rows: list[str] | None
) -> None:
    show(MIXED)
    Select(driver.find_element(By.ID, "by-verdict")).select_by_value(verdict)
    assert shown_rows(driver) == (rows or ["grads", "docs", "old-only", "params"])


def test_rows_are_filtered_by_patch_text_and_targets(driver: WebDriver, show: Show) -> None:
    show(MIXED)
    Select(driver.find_element(By.ID, "by-patch")).select_by_visible_text("params")
    assert shown_rows(driver) == ["params"]
    assert driver.find_element(By.ID, "shown").text == "1 of 4 hunks"
    driver.find_element(By.CSS_SELECTOR, "button[type=reset]").click()
    driver.find_element(By.ID, "by-text").send_keys("rewrite buffer")
    assert shown_rows(driver) == ["grads"]
    driver.find_element(By.CSS_SELECTOR, "button[type=reset]").click()
    driver.find_element(By.ID, "by-news").click()
    assert shown_targets(driver) == ["hunk", "v2.0", "main"]


def test_the_keyboard_goes_all_the_way(driver: WebDriver, show: Show) -> None:
    show(MIXED)
    # One stop for the whole grid.
    stops = driver.find_elements(By.CSS_SELECTOR, 'td a[tabindex="0"]')
    assert [each.get_attribute("data-place") for each in stops] == ["grads@1.0"]
    driver.find_element(By.CSS_SELECTOR, "button[type=reset]").send_keys("")
    driver.execute_script("document.querySelector('button[type=reset]').focus()")
    for _ in range(8):
        press(driver, Keys.TAB)
        if focused(driver):
            break
    assert focused(driver) == "grads@1.0"
    press(driver, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert focused(driver) == "grads/grads@1.1"
    press(driver, Keys.END)
    assert focused(driver) == "grads/grads@2.0"
    press(driver, Keys.ENTER)
    assert panel(driver).is_displayed()
    assert driver.switch_to.active_element.get_attribute("id") == "panel"
    press(driver, Keys.ESCAPE)
    assert not panel(driver).is_displayed()
    assert focused(driver) == "grads/grads@2.0"
    # Where a target has no such hunk the next one that has is gone to.
    press(driver, Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert focused(driver) == "grads/old-only@1.0"
    press(driver, Keys.ARROW_RIGHT)
    assert focused(driver) == "grads/old-only@1.0"


def test_an_address_leads_to_its_cell_and_filters(driver: WebDriver, show: Show) -> None:
    show(MIXED)
    Select(driver.find_element(By.ID, "by-verdict")).select_by_value("look")
    cell(driver, "params/params@2.0").click()
    address = driver.execute_script("return location.hash")
    show(MIXED, address)
    assert panel(driver).find_element(By.TAG_NAME, "h2").text == "params/params on v2.0"
    assert shown_rows(driver) == ["docs", "params"]
    driver.find_element(By.ID, "close").click()
    assert "cell=" not in driver.execute_script("return location.hash")


def test_text_from_elsewhere_is_shown_and_never_run(driver: WebDriver, show: Show) -> None:
    evil = hunk(
        "grads", "conflict", "broken", reason=HOSTILE, diff=DIFF + f"+{HOSTILE}</pre></script>\n", intent=HOSTILE
    )
    show(report(target("1.0", patch("grads", evil, reason=HOSTILE)), notes=(HOSTILE, "x" * 10_000), series=HOSTILE))
    cell(driver, "grads/grads@1.0").click()
    assert driver.execute_script("return window.pwned") is None
    assert "<script>window.pwned = 1</script>" in panel(driver).text
    assert "\\u202ereversed\\x1b[31m" in panel(driver).text
    width = driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert width[0] <= width[1]


CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const parse = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data]; };
const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = (c) => { const f = c.slice(0, 3).map((v) => linear(v / 255));
  return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
const behind = (e) => {
  for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; }
  return [255, 255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.offsetParent) continue;
  const one = light(parse(getComputedStyle(e).color)), two = light(behind(e));
  const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
  if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2));
}
return [...new Set(bad)];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(driver: WebDriver, show: Show, scheme: str) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    show(MIXED)
    dark = driver.execute_script("return getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    cell(driver, "grads/grads@2.0").click()
    bad = driver.execute_script(CONTRAST)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert (dark, bad) == (scheme == "dark", [])


def test_without_javascript_a_cell_leads_to_its_answer(driver: WebDriver, show: Show) -> None:
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(MIXED)
        assert not driver.find_element(By.ID, "filters").is_displayed()
        place = cell(driver, "grads/grads@2.0")
        answer = driver.find_element(By.CSS_SELECTOR, place.get_attribute("href").rpartition("html")[2])  # type: ignore[union-attr]
        assert answer.is_displayed()
        assert "both sides changed these lines" in answer.text
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_sixty_hunks_on_twenty_five_targets_are_no_burden(driver: WebDriver, show: Show, tmp_path: Path) -> None:
    diff = DIFF + "".join(f"+line {number}\n" for number in range(40))
    targets = [
        target(f"1.{number}", patch("grads", *(hunk(f"hunk-{at}", reason=f"{number}", diff=diff) for at in range(60))))
        for number in range(25)
    ]
    begin = time.perf_counter()
    show(report(*targets))
    cell(driver, "grads/hunk-59@1.24").click()
    assert panel(driver).is_displayed()
    assert time.perf_counter() - begin < 30  # a page that hangs, not a slow machine
    assert (tmp_path / "page.html").stat().st_size < 8_000_000
