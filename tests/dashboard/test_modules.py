"""The page's modules that know no page, tested in Node."""

import subprocess
from pathlib import Path

from tests.needs import need

HERE = Path(__file__).parent / "js"


def test_the_modules_in_node() -> None:
    tests = sorted(HERE.glob("*.test.mjs"))
    assert tests
    done = subprocess.run(
        [need("node"), "--test", *tests], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
