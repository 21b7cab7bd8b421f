"""What a page, a message or a unit tells people to type: it works in a clone, and installs ours.

No registry has this host's names, so anyone could register them there.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import PurePath

import pytest
from django.core.management import get_commands

from agui_project import cli
from tests.house.repository import ROOT, files

SKIPPED = {"CHANGELOG.md"}
TEXT = frozenset({
    ".md", ".py", ".mjs", ".mts", ".js", ".json", ".toml", ".yml", ".yaml", ".service", ".sh",
    ".html", ".txt", ".example", ".conf", "",
})  # fmt: skip
INSTALLERS = r"(?:pip3?|pipx|uvx?|poetry|npm|npx|pnpm|yarn|bunx?)"
COMMAND = re.compile(r"(?:manage\.py|agui-host) ([a-z][a-z_-]*[a-z])(?![\w*])")
PROSE = {"in", "or", "and", "at", "is", "lists", "starts", "does", "reads"}


def names() -> set[str]:
    """The names of our packages, in both spellings."""
    packages = {tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]}
    for path in files():
        if path.name == "package.json" and path.parts[0] == "clients":
            packages.add(json.loads((ROOT / path).read_text())["name"])
    packages |= {"agui-client", "agui-host"}
    return packages | {name.replace("-", "_") for name in packages}


NAMES = names()
OURS = re.compile(
    rf"\b{INSTALLERS}\b[^\n`|]*?[\s'\"](?:{'|'.join(sorted(NAMES, key=len, reverse=True))})"
    r"(?=[\[\s'\"`=<>~@]|$)",
    re.MULTILINE,
)


def texts() -> dict[PurePath, str]:
    """The product's files and pages, without tests and the log of changes."""
    paths = [
        path
        for path in files()
        if path.suffix in TEXT and path.parts[0] not in {"tests", "benchmarks"} | SKIPPED
    ]
    return {path: (ROOT / path).read_text("utf-8", errors="replace") for path in paths}


def test_nothing_is_installed_by_a_name_that_no_registry_has() -> None:
    lines = {
        f"{path}: {match[0].strip()}" for path, text in texts().items()
        for match in OURS.finditer(text)
    }  # fmt: skip
    assert lines == set()


@pytest.mark.parametrize(
    "line",
    [
        "pip install agui-run-host", "/opt/agui/bin/pip install --upgrade agui-run-host",
        "pip install 'agui-run-host[otel]'", "npm install agui-host-client", "uvx agui-host up",
        "npm i -D agui-host-client@1",
    ],
)  # fmt: skip
def test_such_a_line_is_found(line: str) -> None:
    assert OURS.search(line)


@pytest.mark.parametrize(
    "line", ["pip install .", "pip install './agui_client'", "npm install ./agui-host-client-1.tgz"]
)
def test_a_clone_or_a_file_is_allowed(line: str) -> None:
    assert not OURS.search(line)


def test_no_package_file_asks_a_registry_for_ours() -> None:
    requirements = []
    for path in files():
        if path.name == "package.json":
            package = json.loads((ROOT / path).read_text())
            for kind in ("dependencies", "devDependencies", "peerDependencies"):
                requirements += [
                    f"{path}: {name}"
                    for name, version in package.get(kind, {}).items()
                    if name in NAMES and not version.startswith(("file:", "workspace:"))
                ]
        elif path.parts[0] == "requirements":
            lines = (ROOT / path).read_text().splitlines()
            requirements += [
                f"{path}: {x}" for x in lines if re.split(r"[\[=<>~; ]", x)[0] in NAMES
            ]
    assert requirements == []


def test_every_command_that_a_page_names_exists() -> None:
    known = set(get_commands())
    commands = {
        (str(path), name)
        for path, text in texts().items()
        if path.suffix in {".md", ".service", ".yml", ".yaml", ".example"}
        for name in COMMAND.findall(text)
        if name not in PROSE
    }
    assert {(path, name) for path, name in commands if cli.command(name) not in known} == set()
    assert len(commands) > 20


@pytest.mark.parametrize("name", ["create-team", "create_team"])
def test_manage_py_takes_both_spellings(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", name, "--help"], cwd=ROOT, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "--owner" in done.stdout
