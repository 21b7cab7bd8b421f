"""The page's modules that know no page, tested in Node."""

import subprocess
from pathlib import Path

from dashboard.templatetags import modules
from tests.needs import need

HERE = Path(__file__).parent / "js"


def test_the_modules_in_node() -> None:
    tests = sorted(HERE.glob("*.test.mjs"))
    assert tests
    done = subprocess.run(
        [need("node"), "--test", *tests], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr


def test_a_page_names_all_modules_behind_its_own() -> None:
    names = modules.imported("shared-page.mjs")
    assert len(names) == len(set(names)) > 10
    assert {"run-view.mjs", "timeline/scale.mjs", "source/whole.mjs"} <= set(names)
    assert not {"shared-page.mjs", "source/paged.mjs"} & set(names)
    assert "source/paged.mjs" in modules.imported("run-page.mjs")
