"""The documentation as a site: built strictly, every link followed, and what it says held against the program."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import click
import pytest

import patchkit
from docs_site import __main__ as site_maker
from docs_site.contents import OTHERS, SECTIONS, sections
from docs_site.pages import all_pages, relinked
from patchkit.cli.main import patchkit as group
from patchkit.cli.schemas import schema_texts
from patchkit.operations.coverage import variants_for
from patchkit.operations.sources import load_workspace

ROOT = Path(__file__).parents[2]
HOW_TO = sorted(f"how-to/{path.name}" for path in (ROOT / "docs/how-to").iterdir())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; zensical has nothing to warn of, or there is none."""
    folder = tmp_path_factory.mktemp("site") / "site"
    site_maker.build(folder)
    return folder


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Every page as Markdown."""
    return all_pages(ROOT)


# The site.


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names.update(value for name, value in given.items() if name in ("id", "name"))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "source", "iframe") and "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(given["href"])


@cache
def parsed(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def broken(site: Path) -> Iterator[str]:
    """Every link and every loaded file that is not in the site."""
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":
            continue  # Its links begin at the root of the server.
        here = "/" + path.relative_to(site).as_posix()
        for link in parsed(path).links + parsed(path).loads:
            address, fragment = urldefrag(urljoin(here, link))
            if urlsplit(address).scheme:
                continue
            target = site / unquote(address).lstrip("/")
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{here}: {link}"
            elif fragment and target.suffix == ".html" and unquote(fragment) not in parsed(target).names:
                yield f"{here}: {link}: no such place"


def test_every_link_leads_somewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 40
    assert list(broken(site)) == []


def test_a_lost_page_and_a_lost_place_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="other/#there">x</a><a href="other/#gone">y</a><img src="gone.svg">')
    (tmp_path / "other").mkdir()
    (tmp_path / "other/index.html").write_text('<h1 id="there">z</h1><a href="../nowhere/">z</a>')

    assert list(broken(tmp_path)) == [
        "/index.html: other/#gone: no such place",
        "/index.html: gone.svg",
        "/other/index.html: ../nowhere/",
    ]


def test_nothing_is_loaded_from_another_server(site: Path) -> None:
    loads = {load for path in site.rglob("*.html") for load in parsed(path).loads}

    assert [load for load in loads if urlsplit(load).netloc] == []


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {name: "# x\n" for names in SECTIONS.values() for name in names if name.endswith(".md")}
    monkeypatch.setattr(site_maker, "all_pages", lambda root: {**pages, "index.md": "# x\n\n[gone](gone.md)\n"})

    with pytest.raises(RuntimeError, match=r"page does not exist[\s\S]*index\.md:3"):
        site_maker.build(tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        site_maker.build(tmp_path)


# Its pages.


def test_every_page_is_in_one_section(pages: dict[str, str]) -> None:
    found = sections(pages)
    placed = [page for chosen in found.values() for page in chosen]

    assert sorted(placed) == sorted(pages)
    assert list(found)[: len(SECTIONS)] == list(SECTIONS)
    assert sections([*pages, "new.md"])[OTHERS] == [*found.get(OTHERS, []), "new.md"]


def test_a_page_that_a_section_names_has_to_be_there(pages: dict[str, str]) -> None:
    with pytest.raises(KeyError, match=r"carry\.md"):
        sections([page for page in pages if page != "carry.md"])


def test_links_of_the_repository_become_those_of_the_site() -> None:
    places = {"docs/a.md": "a.md", "docs/b/c.md": "b/c.md", "CONTRIBUTING.md": "contributing.md"}
    text = "[c](b/c.md#x) [home](../CONTRIBUTING.md) [out](https://example.org/a.md) [file](f.yml)\n"
    text += "```\n[home](../CONTRIBUTING.md)\n```\n"

    assert relinked(text, "docs/a.md", places) == text.replace("../CONTRIBUTING.md", "contributing.md", 1)
    assert relinked("[a](docs/a.md) [c](docs/b/c.md)", "CONTRIBUTING.md", places) == "[a](a.md) [c](b/c.md)"
    assert relinked("[a](../a.md)", "docs/b/c.md", places) == "[a](../a.md)"


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command by its name, with those that are in it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")


def test_the_reference_has_every_command_and_every_option(pages: dict[str, str]) -> None:
    known = dict(commands(group, "patchkit"))
    del known["patchkit"]
    text = "\n".join(page for name, page in pages.items() if name.startswith("reference/"))
    sections_by_title = dict(zip(*[iter(re.split(r"^#+ (.+)\n", text, flags=re.MULTILINE)[1:])] * 2, strict=True))

    assert known.keys() <= sections_by_title.keys()
    assert [
        (name, flag)
        for name, command in known.items()
        for param in command.params
        if isinstance(param, click.Option)
        for flag in param.opts
        if not re.search(rf"^\| `[^`]*{flag}\b", sections_by_title[name], re.MULTILINE)
    ] == []


def test_help_is_text_and_choices_are_shown_as_they_are_typed(site: Path) -> None:
    page = (site / "reference/apply/index.html").read_text(encoding="utf-8")
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())

    assert "<p>Without a place (--to, --in, --installed, --wheel, --branch) the current directory" in page
    assert "--format [text|json]" in text


def test_the_reference_has_every_schema_and_every_key(pages: dict[str, str]) -> None:
    page = pages["reference/files.md"]
    lost = [
        (name, key)
        for name, text in schema_texts().items()
        for definition in json.loads(text).get("$defs", {}).values()
        for key in definition.get("properties", {})
        if f"`{key}`" not in page.partition(f"`{name}`\n")[2].partition("\n## ")[0]
    ]

    assert lost == []
    assert [name for name in schema_texts() if f"\n`{name}`\n" not in page] == []


def test_the_page_of_a_patch_has_the_matrix_of_the_lock_and_every_hunk(pages: dict[str, str]) -> None:
    workspace = load_workspace()
    for patch in workspace.sources.series.patches:
        page = pages[f"patches/{patch.name}.md"]
        rows = re.findall(r"^\| `([^`]+)` \| \d{4}-\d\d-\d\d \| (?:`([^`]+)`|not needed: .+) \|", page, re.MULTILINE)
        expected = []
        for name in workspace.sources.lock.targets:
            variants = variants_for(patch.document, workspace.named(name))
            expected.append((workspace.named(name).title, variants[0].file if variants else ""))

        assert rows == expected
        assert [hunk.id for hunk in patch.document.hunks if f"| `{hunk.id}` |" not in page] == []
        assert [check.id for check in patch.document.checks if f"| `{check.id}` |" not in page] == []


# What written pages say.


def templates() -> set[str]:
    """Every text in the program, with … for what is put in."""
    found: set[str] = set()
    for path in Path(patchkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                found.add("".join(str(part) for part in parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def is_message(text: str, known: set[str]) -> bool:
    """Whether the program says so, at once or with a colon between two of its texts, the second behind another."""
    cuts = [at for at, two in enumerate(pairwise(text)) if two == (":", " ")]
    halves = [(text[:at], text[at + 2 :]) for at in cuts]
    return text in known or any(a in known and not known.isdisjoint((b, f"…: {b}")) for a, b in halves)


def test_the_messages_of_troubleshooting_are_those_of_the_program() -> None:
    headings = re.findall(r"^### (.+)$", (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
    known = templates()

    assert len(headings) > 20
    assert [heading for heading in headings if not is_message(heading.strip("`"), known)] == []


@pytest.mark.parametrize("page", ["index.md", "troubleshooting.md", *HOW_TO])
def test_the_commands_of_a_page_have_options_that_there_are(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = re.findall(r"(?:^|&& )(patchkit [^#&\n]*)", blocks, re.MULTILINE) + re.findall(
        r"`(patchkit [a-z][^`]*)`", text
    )
    known = dict(commands(group, "patchkit"))
    wrong = []
    for line in lines:
        words = unescape(line).split()
        name = next((" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in known), None)
        flags = {flag for param in known[name].params for flag in param.opts} if name else set()
        wrong += [line for word in words if word.startswith("--") and word not in flags]
        wrong += [] if name else [line]

    assert lines != []
    assert wrong == []
