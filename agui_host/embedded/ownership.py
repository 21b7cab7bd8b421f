"""Lets only the owner of a data directory start engines there.

Otherwise the owner's next start would find files that belong to another account.
"""

import os
import pwd
from pathlib import Path


def problem(data: Path) -> str | None:
    """The reason why this account cannot write to ``data``, in one line, or None."""
    place = str(data)
    while not os.path.exists(place):  # This includes what this account cannot see.
        place = os.path.dirname(place)
    whose, me = os.stat(place).st_uid, os.geteuid()
    # Root could write there, but its files would be root's.
    foreign = me == 0 != whose and place == str(data)
    effective = os.access in os.supports_effective_ids
    if os.access(place, os.W_OK | os.X_OK, effective_ids=effective) and not foreign:
        return None
    where = f"AGUI_DATA_DIR: {data}" + (
        "" if place == str(data) else f" cannot be created: {place}"
    )
    if whose == me:
        return f"{where} is not writable; name another directory, or correct its mode."
    return (
        f"{where} belongs to {_name(whose)}, and this is {_name(me)}; run the command as "
        f"{_name(whose)}, or set AGUI_DATA_DIR to your own directory."
    )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
