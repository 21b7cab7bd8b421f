"""Agents of earlier releases are imported, with a warning; a user's own module is theirs."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import agui_host
from agui_host.runtimes import former_names, registry
from agui_host.runtimes.middleware import base


@pytest.fixture(autouse=True)
def no_leftovers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before, finders = set(sys.modules), list(sys.meta_path)
    former_names.take()
    yield
    sys.meta_path[:] = finders
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_an_agent_of_an_earlier_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runtimes" / "__pycache__").mkdir(parents=True)  # left over from an update
    monkeypatch.syspath_prepend(tmp_path)
    with capture_logs() as lines:
        old = importlib.import_module("runtimes")
    assert old.agent is agui_host.agent is registry.agent
    assert old.RunContext is agui_host.RunContext
    (line,) = [line for line in lines if line["event"] == "agents.former_name"]
    assert (line["name"], line["write"]) == ("runtimes", "agui_host.runtimes")


def test_what_is_below_is_the_same_module() -> None:
    spec = base.__spec__
    assert importlib.import_module("runtimes.middleware.base") is base
    assert base.__spec__ is spec
    assert base.__name__ == "agui_host.runtimes.middleware.base"


def test_a_module_of_the_user_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "web.py").write_text("x = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("web").x == 7
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("web.consumers")


@pytest.mark.parametrize("name", ["runtimes.no_such", "no_such", "runs.no_such"])
def test_no_other_name_is_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_names_for_authors() -> None:
    assert agui_host.__all__ == ["RunContext", "agent"]
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        _ = agui_host.no_such  # type: ignore[attr-defined]
