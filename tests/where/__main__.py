"""``python -m tests.where PATH …`` prints the test files of each module."""

import sys
from pathlib import Path

from tests.where import tests_of

for argument in sys.argv[1:]:
    print("\n".join(sorted(tests_of(Path(argument)))))
