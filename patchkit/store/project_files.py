"""Files that a project which keeps a series has beside it: a CI workflow, and hooks of pre-commit."""

from __future__ import annotations

import shlex
from typing import Any

from patchkit.store.yaml_rewriting import rewrite_yaml
from patchkit.store.yaml_text import parse_yaml, print_yaml

WORKFLOW = ".github/workflows/patches.yml"
HOOKS = ".pre-commit-config.yaml"

_FILES = r"(^|/)(series|patch|lock|upstream_versions)\.yaml$|\.patch$"
_COMMANDS = ("patchkit lint", "patchkit regenerate --check")


_WORKFLOW = """\
# Does the series still follow from its sources, and what did upstream do to it? Made by `patchkit init`.
name: patches
on:
  push:
    branches: [main]
  pull_request:
  schedule:
    - cron: "23 4 * * *"
  workflow_dispatch:
permissions:
  contents: read
env:
  # What pip installs: a requirement, the address of a git repository, or a wheel.
  PATCHKIT: megatron-patchkit
jobs:
  series:
    if: github.event_name != 'schedule'
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Install patchkit
        run: python -m pip install --quiet "$PATCHKIT"
      - name: Clone upstream
        # All of it: reading never fetches into a clone.
        run: |
          git clone --quiet --bare REPOSITORY "$RUNNER_TEMP/upstream"
      - name: Check the series
        run: |
          patchkit lint --patches PATCHES --git "$RUNNER_TEMP/upstream"
          patchkit regenerate --check --patches PATCHES --git "$RUNNER_TEMP/upstream"
  upstream:
    if: github.event_name == 'schedule' || github.event_name == 'workflow_dispatch'
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Install patchkit
        run: python -m pip install --quiet "$PATCHKIT"
      - name: Clone upstream
        run: |
          git clone --quiet --bare REPOSITORY "$RUNNER_TEMP/upstream"
      - name: Recall what was reported
        uses: actions/cache/restore@v4
        with:
          path: ${{ runner.temp }}/reported
          key: reported-${{ github.run_id }}-${{ github.run_attempt }}
          restore-keys: reported-
      - name: Check upstream
        # Tells, and fails for, what no run before has told: releases that are not yours would fail it every night.
        run: |
          mkdir -p "$RUNNER_TEMP/reported"
          patchkit check-upstream --patches PATCHES --git "$RUNNER_TEMP/upstream" \\
            --new-only --state "$RUNNER_TEMP/reported/state.txt" \\
            --format github --report "markdown=$GITHUB_STEP_SUMMARY"
      - name: Remember what was reported
        if: always()
        uses: actions/cache/save@v4
        with:
          path: ${{ runner.temp }}/reported
          key: reported-${{ github.run_id }}-${{ github.run_attempt }}
"""


def workflow_text(repository: str, patches: str) -> bytes:
    """Return a workflow of GitHub that checks the series with every change, and upstream every night.

    ``repository`` is where upstream is cloned from, ``patches`` the folder of the series in the project.
    """
    filled = _WORKFLOW.replace("REPOSITORY", shlex.quote(repository)).replace("PATCHES", shlex.quote(patches))
    return filled.encode()


def hooks_text(old: bytes | None, file: str) -> bytes:
    """Return the configuration of pre-commit with patchkit's hooks in it; comments of an ``old`` one are kept.

    Hooks that are there already are left as they are. Raises StoreError when the old one is no YAML.
    """
    hooks = [
        {
            "id": command.removesuffix(" --check").replace(" ", "-"),
            "name": command,
            "entry": command,
            "language": "system",
            "files": _FILES,
            "pass_filenames": False,
        }
        for command in _COMMANDS
    ]
    if old is None:
        return _printed(
            {"repos": [{"repo": "local", "hooks": hooks}]}, "The series is in order before it is committed."
        )
    document = parse_yaml(old, file)
    repositories = document.get("repos") or [] if isinstance(document, dict) else []
    entries = {hook.get("entry") for each in repositories for hook in each.get("hooks") or []}
    missing = [hook for hook in hooks if hook["entry"] not in entries]
    if not missing:
        return old

    def change(written: Any) -> None:
        if not written.get("repos"):
            written["repos"] = []
        written["repos"].append({"repo": "local", "hooks": missing})

    return rewrite_yaml(old, file, change)


def _printed(value: object, comment: str) -> bytes:
    return rewrite_yaml(print_yaml(value, comment), "", lambda _: None)
