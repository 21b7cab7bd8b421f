"""The directory that a request names for a command."""

from typing import Any

import pytest

from agui_host.runtimes.kinds.process.worktree import DEEPEST, LONGEST, WorktreeRefused, requested


def asking_for(path: Any) -> dict[str, Any]:
    return {"alpine": {"worktreeDir": path}}


@pytest.mark.parametrize("props", [None, {}, [], {"alpine": None}, asking_for(None)])
def test_most_requests_name_none(props: Any) -> None:
    assert requested(props) == ()


def test_names_on_the_way_down() -> None:
    assert requested(asking_for("./feature//one/")) == ("feature", "one")


@pytest.mark.parametrize(
    "path",
    [
        "/etc", "..", "a/../../b", "a\n", "a\x00b", 7, ["a"],
        "x" * (LONGEST + 1), "/".join("a" * (DEEPEST + 1)),
    ],
)  # fmt: skip
def test_no_way_out(path: Any) -> None:
    with pytest.raises(WorktreeRefused) as caught:
        requested(asking_for(path))
    assert caught.value.details == {"path": "worktree_dir"}
