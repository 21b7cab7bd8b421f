"""Stretches of time as lexemes: with them, the index of the words finds the newest matches first.

A stretch of level 0 is a minute, each further level four times as long, the last one two years. A
run is in one of each level, by the time of its id.
"""

from uuid import UUID

from agui_host.protocol.ids import uuid7_seconds

LEVELS = range(11)


def of(run_id: UUID) -> list[str]:
    """The stretches of a run, as ``agui_matches`` names them; no word contains their first sign."""
    minute = int(uuid7_seconds(run_id)) // 60
    return [f"#{level}.{minute >> (2 * level)}" for level in LEVELS]
