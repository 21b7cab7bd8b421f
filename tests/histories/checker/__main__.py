"""``python -m checker FILE …``: what each history shows; the status is 1 if anything is wrong."""

import sys
from functools import partial
from pathlib import Path

from . import check, read


def main(names: list[str]) -> int:
    if not names:
        sys.exit("usage: python -m checker FILE …")
    wrong = 0
    for name in names:
        violations, counts = check(partial(read, Path(name)))
        for violation in violations:
            print(violation)
        wrong += len(violations)
        judged = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        print(f"{name}: {len(violations)} wrong ({judged})")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
