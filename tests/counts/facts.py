"""Facts about a whole checkout, one number each, so that two checkouts can be compared."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

from tests import counts
from tests.house import repository
from tests.house.repository import PACKAGES, ROOMS
from tests.prose.constructions import CONSTRUCTIONS, rate
from tests.prose.texts import prose

FIRST_LINE = 72
FUNCTION = re.compile(r"\bcreate (?:or replace )?function (\w+)\s*\(", re.IGNORECASE)
TRIGGER = re.compile(r"\bcreate (?:constraint )?trigger (\w+)", re.IGNORECASE)
MEMBERS = Path("tests/house/test_private_members.py")


def facts(root: Path) -> dict[str, str]:
    """The facts of a checkout by their names, in the order of the table."""
    paths = [path for path in repository.files(root) if path.parts[0] in {*PACKAGES, *ROOMS}]
    python = [path for path in paths if path.suffix == ".py"]
    sources = [path for path in python if "migrations" not in path.parts]
    lines = {path: (root / path).read_text("utf-8").count("\n") for path in sources}
    folders = counts.folders(root)
    name, most = folders.most_common(1)[0]
    stated = [path for path in paths if path.suffix in (".py", ".sql")]
    texts = [(root / path).read_text("utf-8") for path in stated]
    functions = Counter(name for text in texts for name in FUNCTION.findall(text))
    triggers = {name for text in texts for name in TRIGGER.findall(text)}
    sql = [path for path in paths if path.suffix == ".sql"]
    migrations = [path for path in python if re.match(r"\d{4}_", path.name)]
    comments = sum(counts.comments(root / path) for path in sources)
    return {
        "Python files of the product": f"{len(sources)}",
        "lines in them": f"{sum(lines.values())}",
        "comments per 100 lines": f"{100 * comments / max(1, sum(lines.values())):.1f}",
        "names at the top": f"{len({path.parts[0] for path in python})}",
        "largest folder": f"{most} ({name})",
        "SQL files": f"{len(sql)}",
        "functions of PostgreSQL": f"{len(functions)}",
        "bodies, with those in migrations": f"{functions.total()}",
        "triggers": f"{len(triggers)}",
        "migrations": f"{len(migrations)}",
        "private members of libraries": f"{_private_members(root)}",
        **_rates(root),
        f"first lines of commits above {FIRST_LINE}": _long_first_lines(root),
    }


def table(*roots: Path) -> str:
    """The facts of each checkout, as columns."""
    columns = [facts(root) for root in roots]
    width = max(len(value) for column in columns for value in column.values()) + 2
    return "\n".join(
        f"{name:36}" + "".join(f"{column.get(name, '-'):>{width}}" for column in columns)
        for name in columns[-1]
    )


def _private_members(root: Path) -> int | str:
    """As the house test lists them."""
    if not (root / MEMBERS).is_file():
        return "-"
    for node in ast.parse((root / MEMBERS).read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MEMBERS":
            return sum(len(members) for members in ast.literal_eval(node.value).values())
    return "-"


def _rates(root: Path) -> dict[str, str]:
    """Of each construction per 10,000 words, in code and in docs."""
    texts = {kind: "\n".join(files.values()) for kind, files in prose(root).items()}
    return {
        f"prose: {name}": " / ".join(
            f"{rate(text, construction.pattern):.1f}" for text in texts.values()
        )
        for name, construction in CONSTRUCTIONS.items()
    }


def _long_first_lines(root: Path) -> str:
    listed = subprocess.run(
        ["git", "log", "--no-merges", "--format=%s"],
        cwd=root, capture_output=True, text=True, check=False,
    ).stdout.splitlines()  # fmt: skip
    return f"{sum(len(line) > FIRST_LINE for line in listed)} of {len(listed)}"
