"""The report of planted defects names the test that caught one, whatever its parameters are."""

import pytest

from tests.suite.defects.__main__ import FAILED


@pytest.mark.parametrize(
    ("line", "test"),
    [
        ("FAILED tests/a.py::test_b - assert 1 == 2", "tests/a.py::test_b"),
        (
            "FAILED tests/a.py::test_b[text without START] - E: x - y",
            "tests/a.py::test_b[text without START]",
        ),
        ("FAILED tests/a.py::test_b[of a call]", "tests/a.py::test_b[of a call]"),
    ],
)
def test_the_first_that_failed(line: str, test: str) -> None:
    assert FAILED.findall(f"1 failed\n{line}\nmore") == [test]
