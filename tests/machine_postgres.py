"""The machine's own PostgreSQL in place of the wheel's: an older version, or one with TLS.

``AGUI_TEST_POSTGRES=/usr/lib/postgresql/15/bin`` runs the engines of all tests with it.
"""

import os
from pathlib import Path

from agui_host.embedded import embedded
from agui_host.embedded.engines import Postgres
from tests import needs

VARIABLE = "AGUI_TEST_POSTGRES"


def is_chosen() -> bool:
    """Whether this run repeats tests for what an older PostgreSQL makes of their statements."""
    return VARIABLE in os.environ


class MachinePostgres(Postgres):
    """As the embedded one, with binaries that know fewer options of ``initdb``."""

    folder_of_binaries: Path

    def _find_binaries(self) -> Path:
        return self.folder_of_binaries

    def _initdb_options(self) -> list[str]:
        return ["--locale=C.UTF-8", "--no-sync"]


def engine(binaries: Path) -> type[MachinePostgres]:
    """The engine that runs the PostgreSQL in this folder."""
    return type("MachinePostgres", (MachinePostgres,), {"folder_of_binaries": binaries})


def with_tls() -> type[MachinePostgres]:
    """Debian's PostgreSQL, which is built with TLS; the wheel's is not."""
    return engine(needs.need("postgres").parent)


def install() -> None:
    """Run the engines of this process with the PostgreSQL that the environment names."""
    if named := os.environ.get(VARIABLE):
        embedded.Postgres = engine(Path(named))  # type: ignore[misc]
