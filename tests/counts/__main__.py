"""``python -m tests.counts [FOLDER]``; of two folders, the facts side by side."""

import sys
from pathlib import Path

from tests.counts import facts, report
from tests.house import repository

roots = [Path(name).resolve() for name in sys.argv[1:]] or [repository.ROOT]
if len(roots) == 1:
    print(report(roots[0]), end="\n\n")
print(facts.table(*roots))
