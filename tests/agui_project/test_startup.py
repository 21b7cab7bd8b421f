"""The line that web and worker log when they start: it names the code that runs."""

import re
from collections.abc import Iterator

import pytest
from pytest_django import Settings
from structlog.testing import capture_logs

from agui_host.backends import metrics
from agui_project import release, startup

pytestmark = pytest.mark.django_db
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def _image(settings: Settings) -> Iterator[None]:
    """A process whose environment names the commit, as an image's does."""
    settings.AGUI_COMMIT = COMMIT
    release.commit.cache_clear()
    yield
    release.commit.cache_clear()


def started(process: str) -> dict[str, object]:
    with capture_logs() as lines:
        startup.announce(process, ["docs"], port=8000)
    (line,) = [line for line in lines if line["event"] == f"{process}.started"]
    return dict(line)


@pytest.mark.usefixtures("_image")
@pytest.mark.parametrize("process", ["web", "worker"])
def test_the_first_line_of_a_process_names_version_and_commit(process: str) -> None:
    line = started(process)
    assert line["commit"] == COMMIT[:12]
    assert str(line["version"]).split()[0] == release.version()
    assert (line["agents"], line["port"]) == ("docs", 8000)
    values = {"version": release.version(), "commit": COMMIT[:12]}
    assert metrics.REGISTRY.get_sample_value("agui_build_info", values) == 1


def test_a_clone_names_its_head() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", str(started("web")["commit"]))
