import copy
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_host.protocol import patch
from agui_host.protocol.patch import PatchFailed, apply, same

DOC = {"a": {"b": 1, "x/y": 2, "t~": 3}, "list": [1, [2], {"c": 3}], "": 0, "n": None}


def op(kind: str, path: str, *value: Any, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **({"value": value[0]} if value else {}), **more}


@pytest.mark.parametrize(
    ("document", "operations", "after"),
    [
        ({}, [], {}),
        ({}, [op("add", "/a", 1)], {"a": 1}),
        ({"a": 1}, [op("add", "/a", [2])], {"a": [2]}),
        ({}, [op("add", "/", 1)], {"": 1}),
        ([1, 3], [op("add", "/1", 2)], [1, 2, 3]),
        ([1], [op("add", "/1", 2), op("add", "/-", 3)], [1, 2, 3]),
        ({"a": 1}, [op("add", "", [])], []),
        ({"a": 1}, [op("remove", "/a")], {}),
        ([1, 2], [op("remove", "/0")], [2]),
        ({"a": 1}, [op("remove", "")], None),
        ({"a": {"b": 1}}, [op("replace", "/a/b", None)], {"a": {"b": None}}),
        ([1], [op("replace", "/0", 2)], [2]),
        (1, [op("replace", "", 2)], 2),
        ({"a": 1}, [op("move", "/b", **{"from": "/a"})], {"b": 1}),
        ([1, 2, 3], [op("move", "/2", **{"from": "/0"})], [2, 3, 1]),
        ({"a": {"b": 1}}, [op("move", "", **{"from": "/a"})], {"b": 1}),
        ({"a": 1}, [op("move", "/a", **{"from": "/a"})], {"a": 1}),
        ({"a": [1]}, [op("copy", "/b", **{"from": "/a"}), op("add", "/b/-", 2)],
         {"a": [1], "b": [1, 2]}),
        ({"a": 1}, [op("copy", "/b", **{"from": ""})], {"a": 1, "b": {"a": 1}}),
        ({"a": [1.0]}, [op("test", "/a", [1])], {"a": [1.0]}),
        ({"x/y": 1, "t~": 2}, [op("remove", "/x~1y"), op("remove", "/t~0")], {}),
        ({"~1": 1}, [op("remove", "/~01")], {}),
        ({"a": 1}, [op("add", "/b", 1, note="ignored")], {"a": 1, "b": 1}),
    ],
)  # fmt: skip
def test_what_applies(document: Any, operations: list[Any], after: Any) -> None:
    assert apply(document, operations) == after


@pytest.mark.parametrize(
    "bad",
    [
        op("add", "/no/x", 1),
        op("add", "/list/9", 1),
        op("add", "/list/01", 1),
        op("add", "/list/+1", 1),
        op("add", "/list/\u0661", 1),
        op("add", "/list/length", 1),
        op("add", "/a/b/c", 1),
        op("add", "a", 1),
        op("add", "/x"),
        op("add", "/__proto__", 1),
        op("add", "/a/constructor/prototype", 1),
        op("remove", "/no"),
        op("remove", "/list/-"),
        op("remove", "/list/9"),
        op("replace", "/no", 1),
        op("replace", "/list/-", 1),
        op("test", "/n", False),
        op("test", "/no", None),
        op("test", "/a/b", True),
        op("test", "/list/1", ["2"]),
        op("move", "/a/b/c", **{"from": "/a"}),
        op("move", "/a", **{"from": "/no"}),
        op("move", "/no/x", **{"from": "/a"}),
        op("move", "/a"),
        op("copy", "/x", **{"from": "/no"}),
        op("shift", "/a"),
        {},
    ],
)
def test_what_does_not_apply_changes_nothing(bad: dict[str, Any]) -> None:
    before = [
        op("add", "/new", {}),
        op("add", "/new/deep", 1),
        op("replace", "/a", 5),
        op("replace", "/a", {"b": 1}),
        op("remove", "/list/0"),
        op("add", "/list/0", 9),
        op("move", "/moved", **{"from": "/n"}),
        op("copy", "/list/-", **{"from": "/list"}),
    ]
    for operations in ([bad], [*before[:5], bad], [*before, bad]):
        document = copy.deepcopy(DOC)
        with pytest.raises(PatchFailed):
            apply(document, operations)
        assert document == DOC


def test_a_failed_patch_behind_a_new_root_leaves_the_old_one() -> None:
    document = {"a": 1}
    with pytest.raises(PatchFailed):
        apply(document, [op("remove", "/a"), op("replace", "", {}), op("remove", "/a")])
    assert document == {"a": 1}


def test_the_document_is_changed_in_place_and_shares_nothing_with_the_patch() -> None:
    document: dict[str, Any] = {}
    operations = [op("add", "/a", {"deep": [1]})]
    assert apply(document, operations) is document
    apply(document, [op("add", "/a/deep/-", 2)])
    assert document == {"a": {"deep": [1, 2]}}
    assert operations == [op("add", "/a", {"deep": [1]})]


def test_a_target_that_only_the_move_makes_is_refused_as_in_the_stock_client() -> None:
    with pytest.raises(PatchFailed):
        apply([0, 5, {}], [op("move", "/1/x", **{"from": "/0"})])


def test_copies_that_double_the_document_end() -> None:
    document = {"a": [0] * 100}
    bomb = [op("copy", f"/{n}", **{"from": ""}) for n in range(60)]
    with pytest.raises(PatchFailed, match="copies too much"):
        apply(document, bomb)
    assert document == {"a": [0] * 100}
    assert patch.MAX_COPIED == 1_000_000


def test_a_copy_is_counted_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh(self: object, value: object) -> object:
        raise AssertionError("copied")

    monkeypatch.setattr("agui_host.protocol.patch._Patch.fresh", fresh)
    with pytest.raises(PatchFailed, match="copies too much"):
        apply({"a": [0] * 900_000, "b": 0}, [op("copy", "/b", **{"from": "/a"})])
    with pytest.raises(PatchFailed, match="copies too much"):
        apply({"a": [[]] * 60_000, "b": 0}, [op("copy", "/b", **{"from": "/a"})])


def test_work_counts_copies_shifts_and_operations_also_of_a_patch_that_fails() -> None:
    document = {"a": [0] * 6400, "b": 0}
    shifts = [op("add", "/a/0", 1), op("remove", "/a/0")]
    work = patch.grown(document, shifts)[2]
    assert work == 2 + (6400 + 6401) // 64
    copy = op("copy", "/b", **{"from": "/a"})
    assert patch.grown(document, [copy])[2] >= 6400
    with pytest.raises(PatchFailed) as failed:
        patch.grown(document, [*shifts, op("remove", "/none")])
    assert failed.value.work >= work


def test_a_document_too_deep_to_compare_fails_the_patch() -> None:
    document: dict[str, Any] = {"a": []}
    inner = document["a"]
    for _ in range(5000):
        inner.append([])
        inner = inner[0]
    with pytest.raises(PatchFailed, match="too deep"):
        apply(document, [op("add", "/x", 1), op("copy", "/b", **{"from": "/a"})])
    assert list(document) == ["a"]


def test_json_equality() -> None:
    assert same(1, 1.0)
    assert same({"a": [1, None]}, {"a": [1.0, None]})
    for one, other in [(1, True), (0, False), (None, False), ([], {}), ({"a": 1}, {"b": 1})]:
        assert not same(one, other)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x"]),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "0"]), parts, max_size=3)
    ),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "-"]), max_size=3).map(
    lambda keys: "".join(f"/{key}" for key in keys)
)
OPERATIONS = st.builds(
    lambda kind, path, value, source: {"op": kind, "path": path, "value": value, "from": source},
    st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
    PATHS,
    VALUES,
    PATHS,
)


def removes_root(operation: dict[str, Any]) -> bool:
    """The other implementation refuses that; the stock client's gives null, as ours."""
    return operation["op"] == "remove" and operation["path"] == ""


@settings(max_examples=400, deadline=None)
@given(VALUES, st.lists(OPERATIONS.filter(lambda op: not removes_root(op)), max_size=4))
def test_what_applies_has_the_result_of_another_implementation(
    document: Any, operations: list[Any]
) -> None:
    before = copy.deepcopy(document)
    try:
        after = apply(document, operations)
    except PatchFailed:
        assert json.dumps(document, sort_keys=True) == json.dumps(before, sort_keys=True)
        return
    assert after == jsonpatch.apply_patch(before, operations)
