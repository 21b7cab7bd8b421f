"""Counts of a checkout: ``make counts``, or ``python -m tests.counts FOLDER`` for another one.

Files and lines by room, the largest folders, docstrings, comments, modules without tests of their
name, and runs of lines that stand in two places. Migrations are generated and left out.
"""

import ast
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from tests.house import repository
from tests.house.repository import PACKAGES, ROOMS, within

RUN = 6
"""How many equal lines in a row count as written twice."""
THIN = ("#", "import ", "from ", '"""', "@pytest")
FRAMEWORK = {
    "Meta", "add_arguments", "clean", "get_queryset", "handle", "ready", "validate",
}  # fmt: skip
"""Names whose meaning Django, REST framework and their commands set; they explain nothing."""


def modules(root: Path) -> list[Path]:
    """The Python modules of code and tests."""
    rooms = {*PACKAGES, "benchmarks", "tests"}
    return [
        path
        for path in repository.files(root)
        if path.suffix == ".py" and path.parts[0] in rooms
        if path.name != "__init__.py" and "migrations" not in path.parts
    ]


def folders(root: Path) -> Counter[str]:
    """How many modules each folder holds."""
    return Counter(path.parent.as_posix() for path in modules(root))


def untested(root: Path) -> list[Path]:
    """The modules of the packages without a test file of their name in the tests of their room."""
    paths = modules(root)
    files = {(path.parts[1], path.name) for path in paths if path.parts[0] == "tests"}
    return [
        path
        for path in paths
        if path.parts[0] in PACKAGES and (within(path)[0], f"test_{path.name}") not in files
    ]


def sources(root: Path) -> list[Path]:
    """The Python files of a checkout, but its migrations."""
    files = [path for path in repository.files(root) if path.suffix == ".py"]
    return [path for path in files if "migrations" not in path.parts and len(path.parts) > 1]


def public(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The public functions, methods and classes of a module, but those inside functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_") or node.name in FRAMEWORK:
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            yield from public(node)


def documented(text: str) -> tuple[int, int]:
    """How many public definitions have a docstring, and how many there are."""
    nodes = list(public(ast.parse(text)))
    return sum(ast.get_docstring(node) is not None for node in nodes), len(nodes)


def comments(path: Path) -> int:
    """How many lines have a comment."""
    with path.open("rb") as file:
        return sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(file.readline))


def duplicates(texts: dict[str, str]) -> list[tuple[str, str, int]]:
    """Pairs of files that share ``RUN`` or more lines in a row: both names, the number of lines.

    White space is folded; blank and thin lines count on neither side. A run that stands in more
    than eight places is the language, not a copy.
    """
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, text in texts.items():
        lines = [" ".join(line.split()) for line in text.splitlines()]
        lines = [line for line in lines if len(line) > 3 and not line.startswith(THIN)]
        for at in range(len(lines) - RUN + 1):
            places[tuple(lines[at : at + RUN])].append((name, at))
    shared: Counter[tuple[str, str]] = Counter()
    for where in places.values():
        if 1 < len(where) <= 8:
            for (one, first), (other, second) in combinations(where, 2):
                if one != other or abs(first - second) >= RUN:
                    shared[one, other] += 1
    return [(one, other, windows + RUN - 1) for (one, other), windows in shared.most_common()]


def report(root: Path) -> str:
    """The counts as lines of text."""
    paths = sources(root)
    texts = {path.as_posix(): (root / path).read_text("utf-8") for path in paths}
    rows = [f"{'room':14}{'files':>7}{'lines':>8}{'documented':>16}{'comments/100':>14}"]
    for room in [*ROOMS, "benchmarks", "tests"]:
        inside = [path for path in paths if within(path)[0] == room]
        if inside:
            rows.append(_row(room, root, inside, texts))
    product = [path for path in paths if path.parts[0] in PACKAGES]
    rows += [_row("all rooms", root, product, texts), ""]
    largest = ", ".join(f"{name} {number}" for name, number in folders(root).most_common(3))
    without = untested(root)
    longest = sorted(texts, key=lambda name: -texts[name].count("\n"))[:3]
    pairs = duplicates(texts)
    rows += [
        f"largest folders: {largest}",
        "longest files: " + ", ".join(f"{n} {texts[n].count(chr(10))}" for n in longest),
        f"modules without a test file of their name: {len(without)}",
        f"pairs of files that share {RUN} or more lines: {len(pairs)}, "
        f"{sum(lines for *_, lines in pairs)} lines",
        *(f"  {lines:3} {one} ~ {other}" for one, other, lines in pairs[:20]),
    ]
    return "\n".join(rows)


def _row(room: str, root: Path, paths: list[Path], texts: dict[str, str]) -> str:
    lines = sum(texts[path.as_posix()].count("\n") for path in paths)
    counts = [documented(texts[path.as_posix()]) for path in paths]
    having, total = (sum(column) for column in zip(*counts, strict=True))
    share = 100 * having / max(1, total)
    per_hundred = 100 * sum(comments(root / path) for path in paths) / max(1, lines)
    return (
        f"{room:14}{len(paths):7}{lines:8}{having:7} of {total:4}{share:4.0f}%{per_hundred:12.1f}"
    )
