"""A migrated and seeded database: the first host that needs one makes it, the others copy it.

To create, migrate and seed one takes several times as long as everything else that a host does when
it starts, and forty tests start a host of their own.
"""

from pathlib import Path

SHAPING = ("AGUI_AGENT", "AGUI_DATABASE", "AGUI_SECRET", "DATABASE_URL", "PYTHONPATH", "SECRET_KEY")
"""Settings that may change what is stored before the first request; with one, nothing is shared."""
MODULES = "AGUI_AGENT_MODULES"
"""A copy gets their agents afterwards."""
SHAPES_NOTHING = (MODULES, "AGUI_DATABASE_DEADLINE")


def is_shared(data: Path, settings: dict[str, str]) -> bool:
    """Whether a new host with these settings may take the database of another."""
    fresh = not (data / "postgres").exists()
    shaping = (name for name in settings if name.startswith(SHAPING))
    return fresh and not {*shaping} - {*SHAPES_NOTHING}
