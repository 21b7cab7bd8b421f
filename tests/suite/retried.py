"""The tests that ``.ci/run`` ran a second time, and the committed list of them.

``python3 -m tests.suite.retried note`` takes up to eight that have just failed, ``report`` prints
all that were taken since ``begin``. Without other packages: it runs outside of the environment.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAILED = Path(".pytest_cache/v/cache/lastfailed")
NOTED = Path(".pytest_cache/retried")
LIST = Path("tests/retried.md")
MOST = 8


def begin(root: Path = ROOT) -> int:
    """Forget what an earlier run noted."""
    (root / NOTED).unlink(missing_ok=True)
    return 0


def note(root: Path = ROOT) -> int:
    """Note the tests that failed; 1 if none or too many did, so that nothing is run again."""
    failed = json.loads((root / FAILED).read_text()) if (root / FAILED).exists() else []
    if not 1 <= len(failed) <= MOST:
        print(f"{len(failed)} failed: only one to {MOST} are run again")
        return 1
    print("failed at first, run once more:", *failed, sep="\n  ")
    with (root / NOTED).open("a") as file:
        file.writelines(f"{name}\n" for name in failed)
    return 0


def report(root: Path = ROOT) -> int:
    """Print the noted tests as rows for the list."""
    if not (root / NOTED).exists():
        return 0
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    print(f"\nRETRIED, each of them has a defect or has found one. Write into {LIST}:")
    for name in (root / NOTED).read_text().splitlines():
        in_list = " (is in the list)" if name in (root / LIST).read_text() else ""
        print(f"| `{name}` | {today} | … |{in_list}")
    return 0


if __name__ == "__main__":
    sys.exit({"begin": begin, "note": note, "report": report}[sys.argv[1]]())
