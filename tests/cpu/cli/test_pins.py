"""`patchkit pins`: what it prints, its exit codes, and what it writes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

import patchkit as package

from .conftest import Command

SCHEMAS = Path(package.__file__).parent / "schemas"
CASES = Path(__file__).parents[1] / "cases" / "pins"
DOCKERFILES = ["colocate/Dockerfile", "stages/Dockerfile", "rocm/Dockerfile.rocm"]
FIXED = "b5588e83de86412a48689a6583a4b567e75f7acc"


def committed(clone: Path, path: str) -> str:
    """Make a repository with one file, and return its commit."""

    def git(*words: str) -> str:
        settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
        command = ["git", *settings, *words]
        done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    (clone / path).parent.mkdir(parents=True)
    (clone / path).write_text("other\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a")
    return git("rev-parse", "HEAD")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the cases, as the current directory."""
    shutil.copytree(CASES, tmp_path / "cases")
    monkeypatch.chdir(tmp_path / "cases")
    return tmp_path / "cases"


@pytest.mark.parametrize("file", DOCKERFILES)
def test_a_dockerfile_with_planted_faults(patchkit: Command, here: Path, file: str) -> None:
    ran = patchkit("pins", "check", file)

    assert (ran.code, ran.out, ran.err) == (1, (here / file).with_name("expected.txt").read_text(), "")


@pytest.mark.parametrize("file", DOCKERFILES)
def test_the_transcripts_of_the_documentation_are_real(file: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "pins.md").read_text()

    assert (CASES / file).with_name("expected.txt").read_text() in page


def test_the_same_findings_as_json(patchkit: Command, here: Path) -> None:
    ran = patchkit("pins", "check", DOCKERFILES[0], "--format", "json")
    report = json.loads(ran.out)

    assert (ran.code, report["ok"], report["command"], report["files"]) == (1, False, "pins check", [DOCKERFILES[0]])
    assert report["pins"][1] == {
        "path": "colocate/Dockerfile",
        "line": 17,
        "package": "Megatron-LM",
        "kind": "tag",
        "value": "core_v0.15.0",
        "repository": "https://github.com/NVIDIA/Megatron-LM.git",
    }
    assert [(each["line"], each["level"], each["rule"]) for each in report["findings"]] == [
        (12, "wrong", "pin-with-defects"),
        (20, "wrong", "installed-twice"),
        (20, "wrong", "pin-with-defects"),
        (20, "look", "build-environment"),
        (25, "wrong", "failure-swallowed"),
        (25, "wrong", "wrong-base"),
    ]
    assert [each["id"] for each in report["findings"][2]["defects"]] == [
        "double-release",
        "backup-repinned",
        "backup-stays-resident",
        "preload-left-empty",
        "rocm-unaligned-size",
    ]


def test_files_for_cuda_and_rocm_that_disagree(patchkit: Command, here: Path) -> None:
    ran = patchkit("pins", "check", DOCKERFILES[0], DOCKERFILES[2])

    assert [line for line in ran.out.splitlines() if "[files-disagree]" in line] == [
        (
            "rocm/Dockerfile.rocm:9: wrong: torch_memory_saver here, torch_memory_saver at f05a8754daf6 in"
            " colocate/Dockerfile:20 (ROCm against CUDA) [files-disagree]"
        ),
        (
            "rocm/Dockerfile.rocm:15: wrong: Megatron-LM 0.19.1 here, Megatron-LM at core_v0.15.0 in"
            " colocate/Dockerfile:17 (ROCm against CUDA) [files-disagree]"
        ),
    ]


def test_files_that_name_the_same_in_different_words_agree(patchkit: Command, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("megatron-core==0.16.1\ntorch_memory_saver==0.0.10\n")
    (tmp_path / "Dockerfile").write_text(
        "FROM x\nRUN git clone https://github.com/NVIDIA/Megatron-LM && cd Megatron-LM && git checkout core_v0.16.1\n"
        "RUN pip install torch-memory-saver==0.0.10\n"
    )
    ran = patchkit("pins", "check", tmp_path / "requirements.txt", tmp_path / "Dockerfile")

    assert (ran.code, ran.out) == (0, "2 files, 4 pins: 0 wrong, 0 to look at\n")


def test_a_patch_with_the_right_base_and_one_on_top_of_it(patchkit: Command, here: Path) -> None:
    folder = here / "colocate"
    top = (folder / "docker/patch/megatron.patch").read_text().replace("index 55179ff3", "index ce490080", 1)
    top = top.replace("ce490080024251f41679b3c5eaa0b8706d26d549", "ce490080fbe4d0ebf36d6b2fab6200e46ce13f92")
    (folder / "docker/patch/megatron-top.patch").write_text(top)
    dockerfile = folder / "Dockerfile"
    dockerfile.write_text(
        "FROM x\nRUN git clone https://github.com/NVIDIA/Megatron-LM && cd Megatron-LM && git checkout core_v0.16.1\n"
        "COPY docker/patch /p\nRUN cd Megatron-LM && git apply /p/megatron.patch && git apply /p/megatron-top.patch\n"
    )

    assert patchkit("pins", "check", dockerfile).out == "1 file, 1 pin: 0 wrong, 0 to look at\n"

    swapped = dockerfile.read_text().replace("megatron.patch && git apply /p/megatron-top", "megatron-top")
    dockerfile.write_text(swapped)

    assert "megatron-top.patch was made for another text" in patchkit("pins", "check", dockerfile).out


def test_a_commit_that_nobody_recorded_is_looked_up_in_a_clone(patchkit: Command, here: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    commit = committed(clone, "megatron/core/distributed/distributed_data_parallel.py")
    dockerfile = here / "colocate" / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text().replace("core_v0.15.0", commit))
    unknown = f"docker/patch/megatron.patch: the text of Megatron-LM at {commit[:12]} is not at hand"
    other = f"docker/patch/megatron.patch was made for another text than Megatron-LM at {commit[:12]}"

    assert unknown in patchkit("pins", "check", dockerfile).out
    assert other in patchkit("pins", "check", dockerfile, "--git", clone).out
    assert "do:  give a clone that has it with --git REPO\n" in patchkit("pins", "check", dockerfile).out

    dockerfile.write_text(dockerfile.read_text().replace(commit, "a" * 40))
    elsewhere = f"do:  it is not in {clone}: fetch it there, or give a clone that has it\n"
    assert elsewhere in patchkit("pins", "check", dockerfile, "--git", clone).out


def test_what_a_base_image_has_is_said_to_be_unknown(patchkit: Command, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM slimerl/slime:${TAG}\n")
    ran = patchkit("pins", "check", file)

    assert (ran.code, ran.out) == (
        0,
        (
            f"{file}:1: look: which Megatron-LM and torch_memory_saver slimerl/slime:? has was not looked into"
            " [base-image]\n"
            "    why: nothing in this file installs another, so the tag of the image decides\n"
            "    do:  ask `patchkit doctor` in the image, or install pinned ones here\n"
            "1 file, 0 pins: 0 wrong, 1 to look at\n"
        ),
    )


def test_a_file_that_is_not_there_or_no_text(patchkit: Command, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_bytes(b"FROM x\n\xff\n")
    missing, binary = (
        patchkit("pins", "check", tmp_path / "none.txt"),
        patchkit("pins", "check", tmp_path / "Dockerfile"),
    )

    assert (missing.code, missing.err) == (4, f"error: cannot read {tmp_path}/none.txt: No such file or directory\n")
    assert (binary.code, binary.err) == (4, f"error: cannot read {tmp_path}/Dockerfile: it is no UTF-8 text (byte 7)\n")


def test_a_file_whose_name_does_not_say_what_it_is(patchkit: Command, tmp_path: Path) -> None:
    file = tmp_path / "install"
    file.write_text("pip install torch_memory_saver==0.0.10\n")

    assert patchkit("pins", "check", file).code == 2
    assert patchkit("pins", "check", file, "--as", "shell").out == "1 file, 1 pin: 0 wrong, 0 to look at\n"


def test_bump_edits_the_characters_of_the_pins_and_nothing_else(patchkit: Command, here: Path) -> None:
    file = here / "colocate" / "Dockerfile"
    file.chmod(0o755)
    before = file.read_text()
    ran = patchkit("pins", "bump", "colocate/Dockerfile", "--fix", "free-while-paused")

    assert (ran.code, ran.out, ran.err) == (
        0,
        (
            "colocate/Dockerfile:12: bump: 0.0.9 -> 0.0.10: the smallest release with the fix of double-release\n"
            f"colocate/Dockerfile:7: bump: f05a8754daf68238d54e4cf31cb3ba866684bbaf -> {FIXED}: the smallest commit"
            " with the fix of double-release\n"
            "    still there, fixed later: backup-repinned, backup-stays-resident, rocm-unaligned-size\n"
        ),
        "",
    )
    assert file.read_text() == before

    ran = patchkit("pins", "bump", "colocate/Dockerfile", "--fix", "double-release", "--write")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "written: colocate/Dockerfile")
    assert file.read_text() == before.replace("f05a8754daf68238d54e4cf31cb3ba866684bbaf", FIXED).replace(
        "torch_memory_saver==0.0.9", "torch_memory_saver==0.0.10"
    )
    assert file.stat().st_mode & 0o777 == 0o755
    assert [line.split(": ")[1] for line in patchkit("pins", "bump", file, "--fix", "double-release").out.splitlines()][
        :2
    ] == ["has it", "has it"]


def test_bump_says_what_a_smaller_fix_leaves(patchkit: Command, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("git+https://github.com/fzyzcjy/torch_memory_saver@74d68c5\r\n", newline="")
    ran = patchkit("pins", "bump", file, "--fix", "unaligned-size", "--write")

    assert ran.out.splitlines()[1] == (
        "    still there, fixed later: double-release, backup-repinned, backup-stays-resident, preload-left-empty,"
        " rocm-unaligned-size"
    )
    assert file.read_bytes() == (
        b"git+https://github.com/fzyzcjy/torch_memory_saver@f05a8754daf68238d54e4cf31cb3ba866684bbaf\r\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("torch_memory_saver", "not pinned: it is not pinned, so there is nothing to move; write ==0.0.10"),
        (
            "git+https://github.com/fzyzcjy/torch_memory_saver@main",
            f"main: it is not pinned, so there is nothing to move; write @{FIXED}",
        ),
        (
            "git+https://github.com/somebody/torch_memory_saver@f05a875",
            (
                "f05a875: double-release: https://github.com/somebody/torch_memory_saver is another repository, and its"
                " fixes are not known"
            ),
        ),
        (
            "torch_memory_saver==0.0.7",
            "0.0.7: it is none of the recorded ones; write ==0.0.10",
        ),
    ],
)
def test_bump_writes_nothing_when_one_pin_cannot_be_moved(
    patchkit: Command, tmp_path: Path, text: str, reason: str
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"torch_memory_saver==0.0.9\n{text}\n")
    ran = patchkit("pins", "bump", file, "--fix", "double-release", "--write")

    assert (ran.code, ran.out.splitlines()[1:]) == (1, [f"{file}:2: refused: {reason}", "nothing is written"])
    assert file.read_text() == f"torch_memory_saver==0.0.9\n{text}\n"


def test_bump_says_which_clone_would_tell_more(patchkit: Command, tmp_path: Path) -> None:
    clone, file = tmp_path / "clone", tmp_path / "requirements.txt"
    head = committed(clone, "setup.py")
    refused = "it is none of the recorded ones; "

    def reason(commit: str, *options: object) -> str:
        file.write_text(f"git+https://github.com/fzyzcjy/torch_memory_saver@{commit}\n")
        ran = patchkit("pins", "bump", file, "--fix", "double-release", *options)
        return ran.out.splitlines()[0].partition(refused)[2]

    assert reason("a" * 40) == "give a clone that has it with --git REPO"
    assert reason("a" * 40, "--git", clone) == f"it is not in {clone}: fetch it there, or give a clone that has it"
    assert reason(head, "--git", clone) == f"it is in {clone}, where no recorded commit is in its history"


def test_bump_of_what_nothing_fixes_and_of_what_nobody_knows(patchkit: Command, here: Path) -> None:
    unfixed = patchkit("pins", "bump", DOCKERFILES[0], "--fix", "wrong-state-exits")
    unknown = patchkit("pins", "bump", DOCKERFILES[0], "--fix", "nope")

    assert (unfixed.code, unfixed.err.partition(":")[2]) == (
        2,
        (
            " no release or commit is known that fixes wrong-state-exits: pausing what is paused, or resuming what is"
            " active, ends the process\n"
        ),
    )
    assert (unknown.code, unknown.err.splitlines()[0]) == (2, "error: unknown defect 'nope'")


def test_bump_does_not_edit_a_file_that_does_not_parse(patchkit: Command, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM x\nRUN pip install torch_memory_saver==0.0.9\nNONSENSE\n")

    assert patchkit("pins", "bump", file, "--fix", "double-release", "--write").code == 4
    assert "0.0.9" in file.read_text()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        *((("check", file), "pins") for file in DOCKERFILES),
        (("check", *DOCKERFILES), "pins"),
        (("bump", DOCKERFILES[0], "--fix", "double-release"), "bumps"),
        (("bump", DOCKERFILES[2], "--fix", "double-release"), "bumps"),
    ],
)
def test_json_is_of_the_shipped_schema(patchkit: Command, here: Path, words: tuple[str, ...], name: str) -> None:
    ran = patchkit("pins", *words, "--format", "json")
    schema = json.loads((SCHEMAS / f"{name}_report.schema.json").read_text())

    jsonschema.validate(json.loads(ran.out), schema, jsonschema.Draft202012Validator)
    assert (json.loads(ran.out)["command"], ran.err) == (f"pins {words[0]}", "")


def test_bump_names_each_place_once_and_keeps_marks_and_line_ends(patchkit: Command, tmp_path: Path) -> None:
    script, marked = tmp_path / "install.sh", tmp_path / "requirements.txt"
    script.write_text('A=(torch_memory_saver==0.0.9)\npip install "${A[@]}" $A\n')
    marked.write_bytes(b"\xef\xbb\xbftorch_memory_saver==0.0.9\r\n")

    ran = patchkit("pins", "bump", script, "--fix", "free-while-paused", "--write")
    assert ran.out.splitlines() == [
        f"{script}:1: bump: 0.0.9 -> 0.0.10: the smallest release with the fix of double-release",
        f"written: {script}",
    ]
    assert script.read_text() == 'A=(torch_memory_saver==0.0.10)\npip install "${A[@]}" $A\n'
    assert patchkit("pins", "bump", marked, "--fix", "double-release", "--write").code == 0
    assert marked.read_bytes() == b"\xef\xbb\xbftorch_memory_saver==0.0.10\r\n"
