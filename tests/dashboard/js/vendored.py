"""Copies other people's JavaScript into ``static/vendor/NAME-VERSION/``, as it is: ``make vendor``.

npm installs what ``requirements/vendor/package-lock.json`` pins and checks its integrity.
"""

import json
import shutil
import sys
from pathlib import Path

from tests.conftest import ROOT

HERE = ROOT / "requirements" / "vendor"
TARGET = ROOT / "static" / "vendor"
FILES = {"marked": ("lib/marked.esm.js", "LICENSE")}


def copies(installed: Path) -> dict[Path, Path]:
    """Each file below ``static/vendor``, by its source below ``installed``'s ``node_modules``."""
    lock = json.loads((HERE / "package-lock.json").read_text())["packages"]
    sources: dict[Path, Path] = {}
    for name, files in FILES.items():
        folder = TARGET / f"{name}-{lock[f'node_modules/{name}']['version']}"
        sources |= {
            folder / Path(file).name: installed / "node_modules" / name / file for file in files
        }
    return sources


if __name__ == "__main__":
    shutil.rmtree(TARGET, ignore_errors=True)
    for target, source in copies(Path(sys.argv[1])).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
