"""Nobody rests in these tests."""

import pytest

from runs.lifecycle.words import contents, faces, storing


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "REST", 0.0)
    monkeypatch.setattr(contents, "REST", 0.0)
    monkeypatch.setattr(faces, "REST", 0.0)
