"""The page's modules that know no page, tested in Node, and those of others, as they came."""

import re
import shutil
import subprocess
from pathlib import Path

from django.conf import settings

from agui_host.dashboard.templatetags import modules
from tests.conformance.node import npm
from tests.dashboard.js import vendored
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
    names = modules.imported("js/shared-page.mjs")
    assert len(names) == len(set(names)) > 10
    assert {"js/run-view.mjs", "js/timeline/scale.mjs", "js/source/whole.mjs"} <= set(names)
    assert not {"js/shared-page.mjs", "js/source/paged.mjs"} & set(names)
    assert "js/source/paged.mjs" in modules.imported("js/run-page.mjs")


def test_no_field_hides_a_property_of_its_form() -> None:
    """``form.id`` is the field of that name, if a form has one: scripts then read nonsense."""
    read = {"id", "action", "method", "submit", "reset", "append", "matches", "closest", "dataset"}
    hidden = {
        (path.name, name)
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        for name in re.findall(
            r'<(?:input|textarea|select|button)\b[^>]*\bname="(\w+)"', path.read_text()
        )
        if name in read
    }
    assert hidden == set()


def test_modules_of_others_are_unmodified(tmp_path: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(vendored.HERE / name, tmp_path)
    install = [*npm(need("node")), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(install, cwd=tmp_path, check=True, timeout=300)
    copies = vendored.copies(tmp_path)
    assert {file for file in vendored.TARGET.rglob("*") if file.is_file()} == set(copies)
    for copy, source in copies.items():
        assert copy.read_bytes() == source.read_bytes(), copy
