"""lint: what is wrong with the sources of a series, all of it at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.core.authorship import objections
from patchkit.core.model import Patch
from patchkit.core.series import Applicability, PatchDocument, SeriesDocument
from patchkit.core.upstream import Target, VersionsDocument, targets
from patchkit.errors import PatchkitError, SourceError
from patchkit.operations.coverage import bad_ranges, expected_hunks, variants_for, why_not_needed
from patchkit.operations.regenerate import OpenSource, build_target, source_opener
from patchkit.operations.unwritten import unwritten
from patchkit.progress import Reporter, silent
from patchkit.reading import Together
from patchkit.store.documents import load_document
from patchkit.store.location import versions_file
from patchkit.store.lock import load_lock
from patchkit.store.series import SeriesPatch, load_patch, load_series
from patchkit.store.versions import load_versions


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    rule: str
    """Name of the rule, such as ``uncovered-release``."""
    message: str
    """File, key, hunk and line, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class Linted:
    """The answer of lint."""

    findings: tuple[Finding, ...]
    placed: tuple[str, ...]
    """Targets on whose text the hunks were placed and the checks run."""
    not_placed: tuple[str, ...]
    """Targets whose text was not at hand."""


def lint(
    folder: Path,
    *,
    repository: Path | None = None,
    offline: bool = False,
    cache: Path | None = None,
    reporter: Reporter = silent,
) -> Linted:
    """Check the series in ``folder``, first by itself and, if that is in order, on the texts of its targets.

    Releases come from the package index (``offline``: only from the cache), other targets from the git ``repository``.
    """
    findings: list[Finding] = []
    marked: list[Finding] = []
    versions: VersionsDocument | None = None
    known: tuple[Target, ...] = ()
    try:
        versions = load_versions(versions_file(folder))
        known = targets(versions.upstream)
    except SourceError as error:
        findings.append(Finding("schema", error.message))
    try:
        document = load_document(SeriesDocument, folder / "series.yaml")
    except SourceError as error:
        return Linted((*findings, Finding("schema", error.message)), (), ())
    marked.extend(_lint_unwritten(folder / "series.yaml", document))
    together = Together(folder)
    for entry in document.patches:
        try:
            patch = load_patch(folder / entry.name, entry.name, entry.depends, together)
        except SourceError as error:
            findings.append(Finding("schema", error.message))
            continue
        findings.extend(_lint_patch(patch, document, known))
        marked.extend(_lint_unwritten(patch.folder / "patch.yaml", patch.document))
    if findings or versions is None:
        return Linted((*findings, *marked), (), ())
    opener = source_opener(versions, repository, cache=cache, offline=offline, reporter=reporter)
    placed = _lint_placed(folder, known, opener)
    # A text that nobody has written yet does not keep hunks from being placed.
    return replace(placed, findings=(*placed.findings, *marked))


def _lint_unwritten(file: Path, document: PatchDocument | SeriesDocument) -> Iterator[Finding]:
    for key, text in unwritten(document):
        yield Finding("unwritten", f"{file}: {key}: waits for a person: {text.strip()}")


def _lint_placed(folder: Path, known: tuple[Target, ...], open_source: OpenSource) -> Linted:
    """Place every hunk on the texts at hand: unknown scopes, places that are not unique, checks that do not hold."""
    findings: list[Finding] = []
    placed: list[str] = []
    not_placed: list[str] = []
    try:
        series = load_series(folder)
    except SourceError as error:
        return Linted((Finding("schema", error.message),), (), ())
    for target in known:
        try:
            tree = open_source(target)
            if tree is None:
                not_placed.append(target.name)
                continue
            build_target(series, target, tree)
            placed.append(target.name)
        except PatchkitError as error:
            findings.append(Finding("placement", f"{target.title}: {error.message}"))
    try:
        load_lock(series)
    except SourceError as error:
        findings.append(Finding("lock", f"{error.message}; {error.hint}" if error.hint else error.message))
    return Linted(tuple(findings), tuple(placed), tuple(not_placed))


def _lint_patch(patch: SeriesPatch, series: SeriesDocument, known: tuple[Target, ...]) -> Iterator[Finding]:
    document = patch.document
    file = patch.folder / "patch.yaml"
    for objection in objections(document.author, document.last_update):
        yield Finding("no-commit", f"{file}: {objection.key}: {objection.message}; {objection.hint}")
    names = list(_lint_names(file, document, series, known))
    yield from names
    # Which hunks a target needs cannot be told from a range that cannot be read.
    readable = not any(finding.rule == "bad-range" for finding in names)
    ranges = list(_lint_ranges(file, document, known)) if readable else []
    yield from ranges
    named = {variant.file for variant in document.variants}
    for path in sorted((patch.folder / "variants").iterdir()):
        if path.name not in named:
            yield Finding("unused-variant", f"{path}: patch.yaml does not name it")
    for variant in document.variants:
        where = patch.folder / "variants" / variant.file
        try:
            parsed = patch.variant(variant.file)
        except SourceError as error:
            yield Finding("diff", error.message)
            continue
        yield from _lint_ids(where, document, parsed)
        if readable and not ranges:
            yield from _lint_expected(where, variant.file, document, parsed, known)


def _lint_names(
    file: Path, document: PatchDocument, series: SeriesDocument, known: tuple[Target, ...]
) -> Iterator[Finding]:
    """Every name that a patch uses is defined somewhere, and once."""
    for kind, ids in (("hunks", [hunk.id for hunk in document.hunks]), ("checks", [c.id for c in document.checks])):
        for name, count in Counter(ids).items():
            if count > 1:
                yield Finding("duplicate-id", f"{file}: {kind}: {name!r} is there {count} times")
    patches = {entry.name for entry in series.patches}
    hunk_ids = {hunk.id for hunk in document.hunks}
    uses = [
        *(("group", f"hunks[{at}].group", hunk.group, series.groups) for at, hunk in enumerate(document.hunks)),
        *(
            ("patch", f"checks[{at}].requires", name, patches)
            for at, check in enumerate(document.checks)
            for name in check.requires
        ),
        *(
            ("group", f"upstream[{at}].groups", name, series.groups)
            for at, has in enumerate(document.upstream)
            for name in has.groups
        ),
        *(
            ("hunk", f"upstream[{at}].keep", name, hunk_ids)
            for at, has in enumerate(document.upstream)
            for name in has.keep
        ),
    ]
    uses += [("hunk", f"left-out[{at}].hunk", entry.hunk, hunk_ids) for at, entry in enumerate(document.left_out)]
    for kind, key, name, defined in uses:
        if name not in defined:
            yield Finding(f"unknown-{kind}", f"{file}: {key}: there is no {kind} {name!r}")
    if known:
        yield from _lint_targets(file, document, {target.name: target for target in known})


def _lint_targets(file: Path, document: PatchDocument, known: dict[str, Target]) -> Iterator[Finding]:
    """Targets and version ranges that entries name exist."""
    used: list[tuple[str, str]] = []
    entries: list[tuple[str, Applicability]] = [
        *((f"hunks[{position}]", hunk) for position, hunk in enumerate(document.hunks)),
        *((f"checks[{position}]", check) for position, check in enumerate(document.checks)),
    ]
    for key, entry in entries:
        used += [(f"{key}.not-on", name) for name in entry.not_on]
        used += [(f"{key}.only-on", name) for name in entry.only_on]
    for position, variant in enumerate(document.variants):
        used += [(f"variants[{position}].targets", name) for name in variant.targets]
    for position, not_needed in enumerate(document.not_needed):
        used += [(f"not-needed[{position}].targets", name) for name in not_needed.targets]
    used += [(f"left-out[{position}].target", entry.target) for position, entry in enumerate(document.left_out)]
    used += [(f"upstream[{position}].target", has.target) for position, has in enumerate(document.upstream)]
    for key, name in used:
        if name not in known:
            yield Finding("unknown-target", f"{file}: {key}: upstream_versions.yaml has no {name!r}")
    for key, specifier in bad_ranges(document):
        yield Finding("bad-range", f"{file}: {key}: {specifier!r} is no PEP 440 version specifier")


def _lint_ranges(file: Path, document: PatchDocument, known: tuple[Target, ...]) -> Iterator[Finding]:
    """Each target has one variant or a reason for none; each variant has a target."""
    claimed: set[str] = set()
    for target in known:
        variants = variants_for(document, target)
        claimed.update(variant.file for variant in variants)
        reason = why_not_needed(document.not_needed, target)
        names = ", ".join(variant.file for variant in variants)
        if len(variants) > 1:
            yield Finding("overlap", f"{file}: variants: {names} all claim {target.title}")
        elif variants and reason:
            yield Finding("overlap", f"{file}: variants: {names} claims {target.title}, and not-needed does too")
        elif not variants and not reason:
            yield Finding("uncovered-release", f"{file}: variants: none is for {target.title}, nor is it not-needed")
    for position, variant in enumerate(document.variants):
        if known and variant.file not in claimed:
            yield Finding("unused-variant", f"{file}: variants[{position}]: no target uses {variant.file}")


def _lint_ids(where: Path, document: PatchDocument, parsed: Patch) -> Iterator[Finding]:
    """Each hunk of a variant carries the id of a hunk that patch.yaml describes, once, in the file it says."""
    seen: set[str] = set()
    for file in parsed.files:
        for hunk in file.hunks:
            place = f"{where}: {file.path}, hunk at line {hunk.old_start}"
            if not hunk.id:
                yield Finding("missing-id", f"{place}: no id after the second @@")
                continue
            if hunk.id in seen:
                yield Finding("duplicate-id", f"{place}: the id {hunk.id!r} is there twice")
            seen.add(hunk.id)
            spec = document.hunk(hunk.id)
            if spec is None:
                yield Finding("unknown-hunk", f"{place}: patch.yaml describes no hunk {hunk.id!r}")
            elif spec.file != file.path:
                yield Finding("wrong-file", f"{place}: patch.yaml says that {hunk.id!r} is for {spec.file}")


def _lint_expected(
    where: Path, name: str, document: PatchDocument, parsed: Patch, known: tuple[Target, ...]
) -> Iterator[Finding]:
    """A variant has exactly the hunks that its targets need: none is lost, none is left over."""
    present = {hunk.id for file in parsed.files for hunk in file.hunks}
    described = {hunk.id for hunk in document.hunks}
    reported: set[tuple[str, ...]] = set()
    for target in known:
        if not any(variant.file == name for variant in variants_for(document, target)):
            continue
        expected = {hunk.id for hunk in expected_hunks(document, target)}
        for rule, hunks in (("missing-hunk", expected - present), ("extra-hunk", (present & described) - expected)):
            key = (rule, *sorted(hunks))
            if not hunks or key in reported:
                continue
            reported.add(key)
            what = "has not the hunks" if rule == "missing-hunk" else "has hunks that are not for this target:"
            yield Finding(rule, f"{where}: for {target.title} it {what} {', '.join(sorted(hunks))}")
