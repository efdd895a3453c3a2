"""One made-up series for each thing that can be wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees.snapshots import contents, lay

from patchkit.core.series import no_name
from patchkit.operations.lint import Linted, lint
from patchkit.store.location import default_patches

from . import made_up
from .made_up import path_of

V2 = f"FOLDER/mode/variants/v2.patch: {path_of('mode')}, hunk"
V1 = f"FOLDER/grads/variants/v1.patch: {path_of('buffer')}, hunk"
MAIN = f"FOLDER/grads/variants/main.patch: {path_of('config')}, hunk"
NO_DATE = "Expected `str` matching regex '^\\\\d{4}-\\\\d{2}-\\\\d{2}$'"


def edit(series: Path, file: str, old: str, new: str) -> None:
    text = (series / file).read_text()
    assert text.count(old) == 1
    (series / file).write_text(text.replace(old, new))


def found(series: Path, *, repository: Path | None = None) -> list[tuple[str, str]]:
    """The findings, with FOLDER for the folder of the series."""
    before = contents(series.parents[1])
    linted = lint(series, repository=repository)
    assert contents(series.parents[1]) == before
    return [(finding.rule, finding.message.replace(str(series), "FOLDER")) for finding in linted.findings]


def test_a_series_that_is_in_order_has_no_findings_and_it_is_said_on_which_targets_it_was_placed(
    series: Path, tmp_path: Path
) -> None:
    made_up.repository(tmp_path / "repository")

    assert lint(series) == Linted((), ("1.0", "1.1", "2.0"), ("main",))
    assert lint(series, repository=tmp_path / "repository") == Linted((), ("1.0", "1.1", "2.0", "main"), ())


def test_offline_only_releases_in_the_cache_are_looked_at(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up.fill_cache(tmp_path / "cache", ["1.1"])
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("subprocess.run", None)

    assert lint(series, offline=True) == Linted((), ("1.1",), ("1.0", "2.0", "main"))


def test_a_release_that_cannot_be_had_is_a_finding(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up.fill_cache(tmp_path / "cache", ["1.0", "2.0"])
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    linted = lint(series)

    assert [finding.rule for finding in linted.findings] == ["placement"]
    assert linted.findings[0].message.startswith("v1.1: the package index does not have megatron-core 1.1 ")
    assert linted.placed == ("1.0", "2.0")


@pytest.mark.parametrize(
    ("change", "findings"),
    [
        # The header of a patch.
        (
            ("mode/patch.yaml", "origin: Made up.\n", ""),
            [("schema", "FOLDER/mode/patch.yaml: the document (line 1): Object missing required field `origin`")],
        ),
        (
            ("mode/patch.yaml", "last-update: 2026-01-02", "last-update: today"),
            [
                (
                    "schema",
                    f"FOLDER/mode/patch.yaml: last-update (line 8): {NO_DATE}",
                )
            ],
        ),
        (
            ("mode/patch.yaml", "origin: Made up.", "origin: Made up.\nreason: none"),
            [("schema", "FOLDER/mode/patch.yaml: the document (line 1): Object contains unknown field `reason`")],
        ),
        (
            ("mode/patch.yaml", "name: mode", "name: other"),
            [("schema", "FOLDER/mode/patch.yaml: name: 'other' differs from the folder 'mode'")],
        ),
        (
            ("mode/patch.yaml", "origin: Made up.", "origin: ["),
            [("schema", "FOLDER/mode/patch.yaml: line 6, column 10: not valid YAML: did not find expected ',' or ']'")],
        ),
        (
            ("series.yaml", "- name: mode", "- name: review"),
            [
                (
                    "schema",
                    f"FOLDER/series.yaml: patches[3] (line 12): {no_name('review')}",
                )
            ],
        ),
        # The text of a variant.
        (
            ("mode/variants/v2.patch", "@@ -2,4 +2,4 @@", "@@ -2,4 +2,5 @@"),
            [("diff", "FOLDER/mode/variants/v2.patch:3: the counts in the hunk header disagree with the hunk's body")],
        ),
        (
            ("mode/variants/v2.patch", " \n import sys", "\n import sys"),
            [("diff", "FOLDER/mode/variants/v2.patch:4: a blank context line has lost its leading space")],
        ),
        # The ids of hunks.
        (
            ("mode/variants/v2.patch", "@@ mode-guard", "@@"),
            [
                (
                    "missing-id",
                    f"{V2} at line 2: no id after the second @@",
                ),
                ("missing-hunk", "FOLDER/mode/variants/v2.patch: for v2.0 it has not the hunks mode-guard"),
            ],
        ),
        (
            ("mode/variants/v2.patch", "@@ mode-guard", "@@ mode-gard"),
            [
                (
                    "unknown-hunk",
                    f"{V2} at line 2: patch.yaml describes no hunk 'mode-gard'",
                ),
                ("missing-hunk", "FOLDER/mode/variants/v2.patch: for v2.0 it has not the hunks mode-guard"),
            ],
        ),
        (
            ("mode/patch.yaml", "file: megatron/core/mode.py", "file: megatron/core/other.py"),
            [
                (
                    "wrong-file",
                    (f"{V2} at line 2: patch.yaml says that 'mode-guard' is for {path_of('other')}"),
                )
            ],
        ),
        # Names that nothing defines.
        (
            ("mode/patch.yaml", "group: plumbing", "group: pipes"),
            [("unknown-group", "FOLDER/mode/patch.yaml: hunks[0].group: there is no group 'pipes'")],
        ),
        (
            ("grads/patch.yaml", "regions: its own", "region: its own"),
            [
                ("unknown-group", "FOLDER/grads/patch.yaml: upstream[0].groups: there is no group 'region'"),
                ("missing-hunk", "FOLDER/grads/variants/main.patch: for main it has not the hunks grads-reload"),
            ],
        ),
        (
            (
                "grads/patch.yaml",
                "\nupstream:",
                "\nleft-out:\n  - hunk: grads-ini\n    target: '9.9'\n    reason: So.\nupstream:",
            ),
            [
                ("unknown-hunk", "FOLDER/grads/patch.yaml: left-out[0].hunk: there is no hunk 'grads-ini'"),
                ("unknown-target", "FOLDER/grads/patch.yaml: left-out[0].target: upstream_versions.yaml has no '9.9'"),
            ],
        ),
        (
            ("params/patch.yaml", "requires: [grads]", "requires: [gradients]"),
            [("unknown-patch", "FOLDER/params/patch.yaml: checks[0].requires: there is no patch 'gradients'")],
        ),
        (
            ("grads/patch.yaml", "target: main\n", "target: dev\n"),
            [
                ("unknown-target", "FOLDER/grads/patch.yaml: upstream[0].target: upstream_versions.yaml has no 'dev'"),
                ("missing-hunk", "FOLDER/grads/variants/main.patch: for main it has not the hunks grads-reload"),
            ],
        ),
        (
            ("grads/patch.yaml", "not-on: [main]", "not-on: [dev]"),
            [("unknown-target", "FOLDER/grads/patch.yaml: checks[0].not-on: upstream_versions.yaml has no 'dev'")],
        ),
        (
            ("mode/patch.yaml", '  - releases: "<2.0"\n', '  - releases: "<2.0"\n    targets: [dev]\n'),
            [("unknown-target", "FOLDER/mode/patch.yaml: not-needed[0].targets: upstream_versions.yaml has no 'dev'")],
        ),
        (
            ("mode/patch.yaml", "    scope: <module>\n", "    scope: <module>\n    only-on: [dev, main]\n"),
            [
                ("unknown-target", "FOLDER/mode/patch.yaml: hunks[0].only-on: upstream_versions.yaml has no 'dev'"),
                (
                    "extra-hunk",
                    "FOLDER/mode/variants/v2.patch: for v2.0 it has hunks that are not for this target: mode-guard",
                ),
            ],
        ),
        # Which releases.
        (
            ("mode/patch.yaml", "    scope: <module>\n", '    scope: <module>\n    releases: "=>2.0"\n'),
            [("bad-range", "FOLDER/mode/patch.yaml: hunks[0].releases: '=>2.0' is no PEP 440 version specifier")],
        ),
        (
            ("mode/patch.yaml", "    mentions: MODE\n", '    mentions: MODE\n    releases: "2"\n'),
            [("bad-range", "FOLDER/mode/patch.yaml: checks[0].releases: '2' is no PEP 440 version specifier")],
        ),
        (
            ("mode/patch.yaml", 'releases: ">=2.0"', 'releases: ">=2.0 or so"'),
            [
                (
                    "bad-range",
                    "FOLDER/mode/patch.yaml: variants[0].releases: '>=2.0 or so' is no PEP 440 version specifier",
                )
            ],
        ),
        (
            ("mode/patch.yaml", 'releases: "<2.0"', 'releases: "<two"'),
            [("bad-range", "FOLDER/mode/patch.yaml: not-needed[0].releases: '<two' is no PEP 440 version specifier")],
        ),
        (
            ("mode/patch.yaml", 'releases: "<2.0"', 'releases: "<1.1"'),
            [("uncovered-release", "FOLDER/mode/patch.yaml: variants: none is for v1.1, nor is it not-needed")],
        ),
        (
            ("mode/patch.yaml", 'releases: "<2.0"', 'releases: "<=2.0"'),
            [("overlap", "FOLDER/mode/patch.yaml: variants: v2.patch claims v2.0, and not-needed does too")],
        ),
        (
            ("grads/patch.yaml", "targets: [main]\nupstream", 'releases: ">=3.0"\nupstream'),
            [("overlap", "FOLDER/grads/patch.yaml: variants: v1.patch, main.patch all claim main")],
        ),
        # The hunks that a target needs.
        (
            ("grads/patch.yaml", "    keep: [grads-init]\n", "    keep: [grads-init, grads-reload]\n"),
            [("missing-hunk", "FOLDER/grads/variants/main.patch: for main it has not the hunks grads-reload")],
        ),
        (
            ("grads/patch.yaml", "    keep: [grads-init]\n", "    keep: []\n"),
            [
                (
                    "extra-hunk",
                    "FOLDER/grads/variants/main.patch: for main it has hunks that are not for this target: grads-init",
                )
            ],
        ),
        (
            ("grads/patch.yaml", "    scope: Config\n", '    scope: Config\n    releases: ">=2.0"\n'),
            [
                (
                    "extra-hunk",
                    "FOLDER/grads/variants/v1.patch: for v1.0 it has hunks that are not for this target: grads-config",
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_the_sources_is_told_with_file_and_key_or_line(
    series: Path, change: tuple[str, str, str], findings: list[tuple[str, str]]
) -> None:
    edit(series, *change)

    assert found(series) == findings


OF_AUTHORS = "git takes signs from both ends of a name, and nothing is left; say who wrote the patch"
OF_DAYS = "git reads days of the years 1970 to 2099"


@pytest.mark.parametrize(
    ("key", "old", "new", "told"),
    [
        ("author", "a made-up author", ". <> ;", f"no author of a commit: '. <> ;'; {OF_AUTHORS}"),
        ("last-update", "2026-01-02", "2026-02-30", f"no date of a commit: 2026-02-30; {OF_DAYS}"),
        ("last-update", "2026-01-02", "1969-12-31", f"no date of a commit: 1969-12-31; {OF_DAYS}"),
        ("last-update", "2026-01-02", "2100-01-01", f"no date of a commit: 2100-01-01; {OF_DAYS}"),
    ],
)
def test_whom_and_which_day_git_takes_for_no_author_is_told(
    series: Path, key: str, old: str, new: str, told: str
) -> None:
    edit(series, "mode/patch.yaml", f"{key}: {old}", f'{key}: "{new}"')

    assert found(series) == [("no-commit", f"FOLDER/mode/patch.yaml: {key}: {told}")]


def test_findings_of_all_patches_are_told_at_once(series: Path) -> None:
    edit(series, "mode/patch.yaml", "group: plumbing", "group: pipes")
    edit(series, "grads/patch.yaml", "origin: Made up.\n", "")
    edit(series, "params/variants/v1.patch", "@@ params-init", "@@")

    assert [rule for rule, _ in found(series)] == ["schema", "missing-id", "missing-hunk", "unknown-group"]


def test_a_hunk_that_is_described_twice_or_used_twice_is_told(series: Path) -> None:
    edit(series, "grads/patch.yaml", "- id: grads-reload", "- id: grads-init")
    edit(series, "grads/variants/main.patch", "@@ grads-config", "@@ grads-init")

    assert found(series) == [
        ("duplicate-id", "FOLDER/grads/patch.yaml: hunks: 'grads-init' is there 2 times"),
        (
            "unknown-hunk",
            (f"{V1} at line 18: patch.yaml describes no hunk 'grads-reload'"),
        ),
        (
            "duplicate-id",
            f"{MAIN} at line 6: the id 'grads-init' is there twice",
        ),
        (
            "wrong-file",
            (f"{MAIN} at line 6: patch.yaml says that 'grads-init' is for {path_of('buffer')}"),
        ),
        ("missing-hunk", "FOLDER/grads/variants/main.patch: for main it has not the hunks grads-config"),
    ]


def test_a_check_that_is_there_twice_is_told(series: Path) -> None:
    edit(series, "grads/patch.yaml", "- id: flag-is-off", "- id: grads-in-region")

    assert found(series) == [
        ("duplicate-id", "FOLDER/grads/patch.yaml: checks: 'grads-in-region' is there 2 times"),
    ]


def test_a_variant_that_no_target_uses_is_told(series: Path) -> None:
    lay(series, {"mode/variants/old.patch": b""})
    edit(
        series, "grads/patch.yaml", 'releases: ">=1.0"', 'releases: ">=1.0"\n  - file: v2.patch\n    releases: ">=4.0"'
    )
    lay(series, {"grads/variants/v2.patch": (series / "grads" / "variants" / "v1.patch").read_bytes()})

    assert found(series) == [
        ("unused-variant", "FOLDER/grads/patch.yaml: variants[1]: no target uses v2.patch"),
        ("unused-variant", "FOLDER/mode/variants/old.patch: patch.yaml does not name it"),
    ]


def test_a_variant_that_is_not_there_is_told(series: Path) -> None:
    (series / "mode" / "variants" / "v2.patch").unlink()

    assert found(series) == [("schema", "FOLDER/mode/variants/v2.patch: No such file or directory")]


def test_versions_that_cannot_be_read_are_told_beside_what_is_wrong_with_patches(series: Path) -> None:
    versions = series.parents[1] / "upstream_versions.yaml"
    versions.write_text(versions.read_text().replace("date: 2026-01-01", "date: yesterday"))
    edit(series, "mode/patch.yaml", "group: plumbing", "group: pipes")

    assert [(rule, message.replace(str(versions), "VERSIONS")) for rule, message in found(series)] == [
        (
            "schema",
            f"VERSIONS: megatron.releases[0].date (line 10): {NO_DATE}",
        ),
        ("unknown-group", "FOLDER/mode/patch.yaml: hunks[0].group: there is no group 'pipes'"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema: 1", "schema: 2", "schema (line 1): Expected `int` <= 1"),
        (
            "depends: [grads]",
            "depends: [loose]",
            "patches[1].depends: 'params' depends on 'loose', which does not stand before it",
        ),
        ("  - name: loose\n", "  - name: grads\n", "patches[2].name: 'grads' is there twice"),
    ],
)
def test_a_list_of_patches_that_makes_no_sense_is_told(series: Path, old: str, new: str, message: str) -> None:
    edit(series, "series.yaml", old, new)

    assert found(series) == [("schema", f"FOLDER/series.yaml: {message}")]


# With the texts of the targets.


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            ("mode/patch.yaml", "scope: <module>", "scope: Mode"),
            f"v2.0: {V2} mode-guard: the file has no such scope",
        ),
        (
            ("params/patch.yaml", "scope: Buffer.__init__", "scope: Buffer.reload"),
            (
                f"v1.0: FOLDER/params/variants/v1.patch: {path_of('buffer')}, hunk params-init: "
                "its old lines are in the file, but not in its scope (lines 13)"
            ),
        ),
        (
            ("mode/variants/v2.patch", " import sys\n", " import os\n"),
            (f"v2.0: {V2} mode-guard: its old lines are nowhere in the file"),
        ),
        (
            ("mode/patch.yaml", "count: 0", "count: 1"),
            "v2.0: mode/patch.yaml: checks: check no-other-mode expects 1 matches and finds 0",
        ),
    ],
)
def test_what_does_not_fit_a_target_is_told_beside_the_lock_that_is_out_of_date(
    series: Path, change: tuple[str, str, str], problem: str
) -> None:
    edit(series, *change)
    findings = found(series)

    assert findings[0] == ("placement", problem)
    assert {rule for rule, _ in findings[:-1]} == {"placement"}
    assert findings[-1] == (
        "lock",
        (
            "FOLDER/lock.yaml: series: the lock does not belong to these sources "
            f"(changed: {change[0].split('/')[0]}); run `patchkit regenerate --patches FOLDER`"
        ),
    )


def test_a_lock_that_is_older_than_the_sources_is_told(series: Path) -> None:
    edit(series, "mode/patch.yaml", "origin: Made up.", "origin: Found.")

    assert found(series) == [
        (
            "lock",
            (
                "FOLDER/lock.yaml: series: the lock does not belong to these sources (changed: mode); "
                "run `patchkit regenerate --patches FOLDER`"
            ),
        ),
    ]


def test_the_series_that_patchkit_ships_has_no_findings() -> None:
    assert lint(default_patches(), offline=True).findings == ()
