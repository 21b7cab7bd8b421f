"""`python -m agui_project COMMAND`: how the host starts its own processes."""

import sys

from agui_project.cli import run

if __name__ == "__main__":
    run(sys.argv[1:])
