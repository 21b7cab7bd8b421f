"""Plants each defect into a copy of the repository and runs its tests: ``make defects``.

``make defects ARGS="intake journal/fence-of-one"`` runs only these groups and defects. Prints a
line for each: the seconds, whether a test failed, and the first that did. At the end these tests
run once more without any defect, so that a test that always fails catches nothing.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.house import repository
from tests.suite import clusters
from tests.suite.defects.catalogue import Defect, defects

SECONDS = 300
"""A test that hangs with a defect has noticed it."""
CAUGHT, SURVIVED, HUNG, BROKEN = "caught", "SURVIVED", "hung", "BROKEN"
FAILED = re.compile(r"^FAILED (.+?)(?: - .*)?$", re.MULTILINE)
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "", "HYPOTHESIS_STORAGE_DIRECTORY": "", "CI": ""}


class Verdict(NamedTuple):
    """The result of one run of tests, the first that failed, and the end of what was printed."""

    result: str
    test: str
    seconds: float
    output: str


def run(root: Path, tests: list[str]) -> Verdict:
    """Run these tests in a checkout until one fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", *tests]
    begun = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if name not in ENVIRONMENT}
    environment[clusters.VERSION] = clusters.of_tests().version
    with subprocess.Popen(
        command, cwd=root, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # pytest stops its engines
            output, _ = process.communicate()
            return Verdict(HUNG, "", time.monotonic() - begun, output[-2000:])
    failed = FAILED.search(output)
    result = {0: SURVIVED, 1: CAUGHT if failed else BROKEN}.get(process.returncode, BROKEN)
    test = failed[1] if failed else ""
    return Verdict(result, test, time.monotonic() - begun, output[-2000:])


def chosen(names: list[str]) -> list[Defect]:
    """The defects of these groups or names; all without any."""
    return [
        defect
        for defect in defects()
        if not names or {defect.group, f"{defect.group}/{defect.name}"} & set(names)
    ]


def main() -> int:
    """The number of defects that no test caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.suite.defects", description=__doc__)
    parser.add_argument("names", nargs="*", help="groups, or group/name")
    parser.add_argument("--verbose", action="store_true", help="print the tests' output as well")
    options = parser.parse_args()
    missed, catching = 0, list[str]()
    with tempfile.TemporaryDirectory(prefix="agui-defects-") as folder:
        root = repository.copy(Path(folder))
        root.chmod(0o755)
        (root / ".venv").symlink_to(sys.prefix)
        every = chosen(options.names)
        for defect in every:
            with defect.planted_in(root):
                verdict = run(root, defect.tests)
            missed += verdict.result in (SURVIVED, BROKEN)
            catching += [verdict.test] if verdict.test else []
            title = f"{defect.group}/{defect.name}"
            print(f"{verdict.seconds:5.1f} s  {verdict.result:8}  {title:52} {verdict.test}")
            if options.verbose or verdict.result == BROKEN:
                print(verdict.output)
            sys.stdout.flush()
        print(f"{len(every) - missed} of {len(every)} planted defects were caught")
        if catching:
            clean = run(root, sorted(set(catching)))
            missed += clean.result != SURVIVED
            passed = "pass" if clean.result == SURVIVED else f"FAIL: {clean.test}\n{clean.output}"
            print(f"without a defect these tests {passed}")
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
