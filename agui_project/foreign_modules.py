"""Modules of others that have the name of one of the host's packages.

Python imports the first of several modules with one name on its path: either the host would run
another's code, or the other's code would get the host's.
"""

import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

OURS = ("agui_host", "agui_project", "events", "runs")
HOME = Path(__file__).resolve().parents[1]


def hiding() -> list[str]:
    """A line for each module that Python imports instead of one of ours."""
    return [
        f"{place} hides the host's package {name}: rename it, or take its folder from PYTHONPATH"
        for name, place, first in _foreign()
        if first
    ]


def hidden() -> list[str]:
    """A line for each module that cannot be imported, since one of ours has its name."""
    return [
        f"the host's package {name} hides {place}: rename that module"
        for name, place, first in _foreign()
        if not first
    ]


def _foreign() -> Iterator[tuple[str, Path, bool]]:
    """(name, file, whether it comes before ours) of each."""
    for name in OURS:
        before = True
        for entry in dict.fromkeys(sys.path):
            spec = PathFinder.find_spec(name, [entry or "."])
            if spec is None or not spec.has_location or spec.origin is None:
                continue  # a folder without __init__.py comes after every module and package
            place = Path(spec.origin).resolve()
            folder = place.parent.parent if place.name == "__init__.py" else place.parent
            if folder == HOME:
                before = False
            elif not (folder / "agui_project" / "foreign_modules.py").is_file():  # no other host
                yield name, place, before
