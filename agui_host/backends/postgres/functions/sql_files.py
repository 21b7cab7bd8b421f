"""The bodies of our functions and triggers: ``*.sql`` files in the folders ``sql/`` of the apps.

A file begins with a sentence about its subject. Its header can have two more lines:

``-- planner: enable_seqscan=off …`` sets these for its functions. A connection keeps the plan of a
function's statement while it lives or until the table is analyzed; a plan made while a table is
small reads all of it, and still does so when the table has grown. ``-- planner: as usual`` above a
function makes it an exception.

``-- former: NAME`` keeps functions that only processes of the previous release call, until the
next release.

Then come ``create function`` and ``create trigger`` statements, with a sentence above each
function. A function with its owner's rights looks up names in fixed schemas; the file does not
write that.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from django.apps import apps

APPS = ("teams", "runtimes", "events", "runs")
"""The apps with tables and functions of this host."""
USUAL = "as usual"
COMMENT = re.compile(r"\s*((?:--[^\n]*\n)+)")
FUNCTION = re.compile(
    r"\s*create function (?P<name>\w+)(?P<parameters>\((?:[^()]|\([^()]*\))*\))"
    r"(?P<head>.*?)\bas \$\$(?P<body>.*?)\$\$;",
    re.DOTALL,
)
TRIGGER = re.compile(
    r"\s*create (constraint )?trigger (?P<name>\w+) [^;]*? on (?P<table>\w+)\b[^;]*;"
)
LINE = re.compile(r"^-- (planner|former): (.+)$", re.MULTILINE)
DEFAULT = re.compile(r"\s+default\s+[^,()]+")


class UnreadableFile(Exception):
    """A file in ``sql/`` has something else than comments, functions and triggers."""


class Function(NamedTuple):
    """A function as its file has it."""

    name: str
    parameters: str
    head: str
    body: str
    words: str
    settings: tuple[str, ...]
    path: Path

    @property
    def signature(self) -> str:
        """How ``comment on function`` and ``drop function`` name it."""
        return f"{self.name}{DEFAULT.sub('', self.parameters)}"

    def statement(self, schema: str) -> str:
        """The statement that installs it in this schema."""
        settings = [f"set {setting}" for setting in self.settings]
        if "security definer" in self.head:
            settings.insert(0, f"set search_path = {schema}, pg_temp")
        head = " ".join([self.head.rstrip(), *settings])
        start = f"create or replace function {self.name}{self.parameters}"
        return f"{start}{head} as $${self.body}$$"


class Trigger(NamedTuple):
    """A trigger as its file has it."""

    name: str
    table: str
    text: str
    path: Path

    @property
    def is_constraint(self) -> bool:
        """PostgreSQL cannot replace these in place."""
        return self.text.startswith("create constraint")


class Files(NamedTuple):
    """All functions and triggers of the host, and the names of those of the previous release."""

    functions: list[Function]
    triggers: list[Trigger]
    former: set[str]


def paths() -> list[Path]:
    """The files, in the order of the apps."""
    folders = [Path(apps.get_app_config(app).path) / "sql" for app in APPS]
    return [path for folder in folders for path in sorted(folder.glob("*.sql"))]


def read() -> Files:
    """All files."""
    files = Files([], [], set())
    for path in paths():
        _read_file(path, files)
    return files


def digest(statement: str) -> str:
    """What changes with the statement."""
    return hashlib.sha256(statement.encode()).hexdigest()[:32]


def _read_file(path: Path, into: Files) -> None:
    text = path.read_text("utf-8")
    header, _, _ = text.partition("\n\n")
    lines = [(kind, word) for kind, words in LINE.findall(header) for word in words.split()]
    into.former.update(word for kind, word in lines if kind == "former")
    settings = tuple(word for kind, word in lines if kind == "planner")
    for words, statement in _pieces(path, text[len(header) :]):
        if statement.re is TRIGGER:
            trigger = statement[0].strip().removesuffix(";")
            into.triggers.append(Trigger(statement["name"], statement["table"], trigger, path))
            continue
        own = dict(LINE.findall(words)).get("planner")
        planner = () if own == USUAL else settings
        name, parameters, head, body = statement.group("name", "parameters", "head", "body")
        into.functions.append(Function(name, parameters, head, body, words, planner, path))


def _pieces(path: Path, text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The statements of a file, each with the comment above it."""
    at = 0
    while text[at:].strip():
        words = COMMENT.match(text, at)
        start = words.end() if words else at
        statement = FUNCTION.match(text, start) or TRIGGER.match(text, start)
        if statement is None:
            raise UnreadableFile(f"{path}: no function or trigger: {text[start : start + 60]!r}")
        yield words[1] if words else "", statement
        at = statement.end()
