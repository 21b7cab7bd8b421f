"""Without Node or Chromium tests skip by name; where CI=true they fail instead."""

from pathlib import Path

import pytest

from tests import needs


@pytest.fixture(autouse=True)
def _not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(needs.FINDERS, "node", lambda: None)


def test_a_missing_tool_skips_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs node"):
        needs.need("node")


def test_with_ci_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="needs node"):
        needs.need("node")


def test_a_present_one_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(needs.FINDERS, "node", lambda: Path("/somewhere/node"))
    assert needs.need("node") == Path("/somewhere/node")
