"""How long ``agui-host migrate`` takes in an empty database, and how much of the processor.

``python -m benchmarks.against COMMIT deploy.fresh_migrate`` compares it with another commit.
PostgreSQL does not wait for the disk here, whose speed would hide the work of the command.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import keep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

ROOT = Path(__file__).parents[2]
TIMES = int(os.environ.get("BENCH_TIMES", "2"))
OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def migrate(address: str, data: Path) -> tuple[float, float]:
    """Seconds that the command takes for this database, and seconds of the processor."""
    env = os.environ | {"DATABASE_URL": address, "REDIS_URL": "", "AGUI_DATA_DIR": str(data)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=env, check=True)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    import psycopg

    from agui_host.embedded import embedded, paths

    data = Path(tempfile.mkdtemp(prefix="agui-migrate-"))
    data.chmod(0o711)
    engines = embedded.start(data, valkey=False, postgres_options=OPTIONS)
    figures = []
    try:
        sockets = paths.socket_dir(data)
        with psycopg.connect(
            host=str(sockets), user="postgres", dbname="postgres", autocommit=True
        ) as session:
            for number in range(TIMES):
                session.execute(f"create database fresh_{number}")
                folder = str(sockets).replace("/", "%2F")
                address = f"postgres://postgres@{folder}:5432/fresh_{number}"
                figures.append(migrate(address, data / "host"))
    finally:
        engines.stop()
        shutil.rmtree(data)
    took, used = (statistics.median(values) * 1000 for values in zip(*figures, strict=True))
    keep(
        "fresh_migrate",
        [f"a fresh migrate {took:,.0f} ms", f"processor time of its command {used:,.0f} ms"],
    )


if __name__ == "__main__":
    main()
