"""The committed patches and logs: our folds make of them what the files say."""

import copy

from agui_host.protocol.patch import PatchFailed, apply
from tests.protocol.fold.corpus import cases, outcome, read, read_logs


def test_the_file_has_the_cases_of_today() -> None:
    assert read() == cases(), "write it with python -m tests.protocol.fold.corpus"


def test_patches_do_what_the_file_says() -> None:
    results = 0
    for case in read():
        document = copy.deepcopy(case["document"])
        try:
            assert apply(document, case["patch"]) == case["result"]
            results += 1
        except PatchFailed:
            assert "result" not in case
            assert document == case["document"], "a patch that fails changes nothing"
    assert results > 200


def test_logs_fold_to_what_the_file_says() -> None:
    kinds: set[str] = set()
    for case in read_logs():
        kinds.update(event["type"] for event in case["events"])
        assert outcome(case["events"]) == {name: case[name] for name in ("messages", "state")}
    assert len(kinds) > 20
