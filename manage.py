#!/usr/bin/env python
"""Django's command line. Commands that need the database start the embedded engines first."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
    from django.core.management import execute_from_command_line

    from agui_project import embedded

    if len(sys.argv) > 1 and sys.argv[1] not in embedded.COMMANDS_WITHOUT_ENGINES:
        embedded.ensure()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
