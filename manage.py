#!/usr/bin/env python
"""Django's command line. Commands that need the database start the embedded engines first."""

import sys

from agui_project.cli import run

if __name__ == "__main__":
    run(sys.argv[1:])
