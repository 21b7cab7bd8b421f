"""The disk of this machine's data directory."""

import shutil

from django.conf import settings

from agui_host.doctor.findings import Fault, check

LEAST = 1 << 30


@check("disk")
def disk() -> str | list[Fault]:
    """Whether the data directory has room; without one, such as before a first start, it is ok."""
    folder = settings.AGUI_DATA_DIR
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return f"{folder} is not there"
    if free >= LEAST:
        return f"{free >> 30} GB free in {folder}"
    return [
        Fault(
            f"{folder} has {free >> 20} MB left.",
            "Free some space, or move AGUI_DATA_DIR (docs/operations.md#a-full-disk).",
        )
    ]
