"""The engines of the test run: real ones, started once, in a data directory of their own."""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string

from agui_host.embedded import embedded, paths
from tests import as_application, chromium, emptying, machine_postgres, turns
from tests.named_tests import NamedTests
from tests.suite import certificates, clusters, profiles, times
from tests.suite.warm import client

browser = chromium.browser

if TYPE_CHECKING:
    from tests.acceptance.host import Host

ROOT = Path(__file__).resolve().parents[1]
PLUMBING = (
    "agui_host/teams/tenancy.py",
    "agui_host/backends/postgres/bridge.py",
    "agui_host/backends/postgres/lanes.py",
    "tests/conftest.py",
)
NEED_NO_ENGINES = ("tests/house/", "tests/prose/", "tests/protocol/", "tests/counts/")
SLOW = (
    "tests/acceptance/", "tests/agui_client/", "tests/api/", "tests/clients/", "tests/conformance/",
    "tests/tenancy/", "tests/bounds/", "tests/house/",  # `make check` runs it
    "tests/embedded/test_embedded", "tests/agui_project/test_safe_by_default",
    "tests/backends/test_tls_engines", "tests/backends/valkey/test_cluster",
    "tests/backends/valkey/test_rights", "tests/backends/valkey/test_sentinel",
    "tests/dashboard/test_openid_connect", "tests/runs/api/test_bad_requests",
    "tests/runs/agents/test_citations_example", "tests/web/test_connect",
    "tests/runs/lifecycle/test_long_logs", "tests/runs/worker/test_lost_connections",
    "tests/runs/worker/test_neighbours", "tests/runtimes/kinds/test_http",
    "tests/runtimes/kinds/process/test_guard",
)  # fmt: skip

ALONE = ("tests/runs/worker/test_neighbours",)
APART = (
    "tests/acceptance/recovery/test_supervision", "tests/acceptance/recovery/test_black_hole",
    "tests/acceptance/recovery/test_without_valkey",
)  # fmt: skip
"""Files that judge time (``tests.turns``), the longest first; single tests are marked in place."""
SELDOM = (20_000, 20, 20)
"""Of ``gc``, whose own numbers took a tenth of the processor time of tests with a database."""
TAIL = 0.15
"""The part of the short files that comes after all long ones."""


def pytest_configure(config: pytest.Config) -> None:
    """Point settings and child processes at a fresh data directory.

    pytest-django has imported the settings before any conftest is read, so the addresses that
    were computed from the default directory are computed again.
    """
    data = Path(tempfile.mkdtemp(prefix="agui-test-"))
    data.chmod(0o711)
    config.add_cleanup(lambda: remove(data))
    profiles.install()
    config.pluginmanager.register(times.Clock())
    if not turns.is_worker(config):
        config.pluginmanager.register(NamedTests())
        config.pluginmanager.register(times.Times(config))
    turns.install(config)
    client.install(config)
    emptying.install()
    as_application.install()
    certificates.install()
    machine_postgres.install()
    list_static_files_once()
    os.environ["AGUI_DATA_DIR"] = str(data)
    settings.AGUI_DATA_DIR, settings.AGUI_FILES = data, str(data / "files")
    settings.AGUI_KEY_CACHE_SECONDS = 0  # tests change rows under the host, and ask at once
    ours = embedded.own_engines()
    if ours["postgres"]:
        settings.DATABASES["default"].update(embedded.database(data))
    if ours["valkey"]:
        settings.REDIS_URL = embedded.valkey_url(data)
        layers: dict[str, Any] = settings.CHANNEL_LAYERS
        layers["default"]["CONFIG"]["hosts"] = [settings.REDIS_URL]
        settings.CACHES["default"]["LOCATION"] = settings.REDIS_URL


def list_static_files_once() -> None:
    """Each of Django's clients has a WhiteNoise of its own, with the files that the first found.

    To look for them took an eighth of the time in which clients read pages.
    """
    whitenoise = import_string("whitenoise.middleware.WhiteNoiseMiddleware")
    find = whitenoise.add_files_from_finders
    of_prefix: dict[str, dict[str, Any]] = {}

    def add_files(middleware: Any) -> None:
        prefix = middleware.static_prefix
        if prefix not in of_prefix:
            collected, middleware.files = middleware.files, {}
            find(middleware)
            of_prefix[prefix], middleware.files = middleware.files, collected
        middleware.files.update(of_prefix[prefix])

    whitenoise.add_files_from_finders = add_files


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for no garbage among modules and tests, now or later: nearly all of them stay.

    That took 8 of the 27 processor seconds of collecting, and again a part of each later look.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*SELDOM)
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark what ``make test-quick`` leaves out: rooms that start hosts, browsers, Node; long files.

    The marks come before ``-m`` looks at them, the order behind everybody else's: long files take
    turns with others, and tests that want the machine to themselves run last, so that the processes
    of a parallel run end together and seldom wait for each other.
    """
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")
        if item.nodeid.startswith(ALONE):
            item.add_marker(turns.ALONE)
        if item.nodeid.startswith(APART):
            item.add_marker(turns.APART)
    yield
    slow = {_file(item): True for item in items if item.get_closest_marker("slow")}
    quick = {_file(item): True for item in items if _file(item) not in slow}
    turn = alternating([*slow], [*quick])
    items.sort(key=lambda item: (_place(item), turn[_file(item)]))


def alternating(slow: list[str], quick: list[str]) -> dict[str, float]:
    """The place of each file. Those that start hosts wait for them; the others keep a core busy.

    The last ones are short, so that the processes end together.
    """
    return {
        file: number * share / len(files)
        for files, share in ((slow, 1 - TAIL), (quick, 1.0))
        for number, file in enumerate(files)
    }


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _place(item: pytest.Item) -> int:
    kind = turns.kind_of(item)
    if kind == turns.TOGETHER:
        return 0
    if kind == turns.APART:
        places = (place for place, file in enumerate(APART) if item.nodeid.startswith(file))
        return 1 + next(places, len(APART))
    return 2 + len(APART)


def remove(data: Path) -> None:
    """Remove a data directory with everything that belongs to it elsewhere."""
    cluster = data / "postgres"
    if cluster.is_symlink():
        shutil.rmtree(cluster.readlink().parent, ignore_errors=True)
    shutil.rmtree(paths.socket_dir(data), ignore_errors=True)
    shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def engines(request: pytest.FixtureRequest) -> Iterator[embedded.Engines]:
    """The engines of this run; ``stop_valkey()`` and the like are for tests of recovery."""
    if all(item.nodeid.startswith(NEED_NO_ENGINES) for item in request.session.items):
        yield embedded.Engines()
        return
    own = embedded.own_engines()
    if own["postgres"]:
        clusters.of_tests().copy_to(settings.AGUI_DATA_DIR)
    # Tests stop engines and kill processes, never the machine: fsync would only cost time.
    engines = embedded.start(
        settings.AGUI_DATA_DIR,
        **own,
        postgres_options=["fsync=off", "full_page_writes=off"],
    )
    yield engines
    engines.stop()


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    """The test database of a copied cluster is used, and goes with its cluster."""
    return django_db_keepdb or embedded.own_engines()["postgres"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """Each process has its own cluster, in which the test database has the same name."""
    if not embedded.own_engines()["postgres"]:
        request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, engines: embedded.Engines) -> Iterator[None]:
    """Keep the migrated cluster for later runs; close the host's own pools before it goes."""
    from agui_host.backends.postgres.reserved import ReservedWrapper

    cluster = clusters.of_tests()
    if engines.postgres and not cluster.exists():
        connections.close_all()
        ReservedWrapper.close_pools()
        engines.stop_postgres()
        cluster.keep(settings.AGUI_DATA_DIR)
        engines.start_postgres()
    yield
    ReservedWrapper.close_pools()


@contextmanager
def own_data_dir() -> Iterator[Path]:
    """A data directory for engines of one's own, gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="agui-own-"))
    path.chmod(0o711)
    try:
        yield path
    finally:
        remove(path)


@contextmanager
def own_host(**settings: str) -> "Iterator[Host]":
    """A running host with these settings, gone afterwards with its data."""
    from tests.acceptance.host import Host

    with own_data_dir() as data:
        host = Host(data, **settings)
        try:
            yield host.start()
        finally:
            host.stop()


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory for a test that runs engines of its own."""
    with own_data_dir() as path:
        yield path


@pytest.fixture(scope="session")
def host() -> "Iterator[Host]":
    """A running host in processes of its own that tests share; they must not break it.

    It looks at the rights of open streams so seldom that what ends one in time was the bell.
    """
    with own_host(AGUI_SSE_HEARTBEAT="600") as host:
        yield host


@pytest.fixture(scope="session")
def desk() -> "Iterator[Host]":
    """A host that may call agents on this machine; tests share it and must not break it."""
    with own_host(AGUI_OUTBOUND_ALLOW="127.0.0.1") as host:
        yield host


@pytest.fixture(scope="session")
def _tough_host() -> "Iterator[Host]":
    with own_host() as host:
        yield host


@pytest.fixture
def tough_host(_tough_host: "Host") -> "Host":
    """A running host whose processes tests kill; each test finds all of them again."""
    _tough_host.heal()
    return _tough_host


@pytest.fixture
def new_host(data_dir: Path) -> "Iterator[Callable[..., Host]]":
    """A function that starts a host of one's own, to be hurt."""
    from tests.acceptance.host import Host

    started: list[Host] = []

    def start(**settings: str) -> Host:
        started.append(Host(data_dir, **settings))
        return started[-1].start()

    yield start
    for host in started:
        host.stop()


@pytest.fixture(autouse=True)
def tests_may_look_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unscoped query is refused when the house asks, not when a test looks around."""
    from agui_host.teams import (
        tenancy,  # needs settings, which a benchmark has not set when it imports this
    )

    refused = tenancy.exempt
    monkeypatch.setattr(tenancy, "exempt", lambda: refused() or not asked_by_the_house())


def asked_by_the_house() -> bool:
    """Whether the nearest caller that is neither Django nor plumbing is a module of ours."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(str(ROOT)) and "/.venv/" not in path and not path.endswith(PLUMBING):
            return not path.startswith(str(ROOT / "tests"))
        frame = frame.f_back
    return False
