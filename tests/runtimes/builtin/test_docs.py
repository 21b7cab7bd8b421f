"""The docs agent: sections of Markdown, searched as people ask."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.runtimes.builtin import doc_search
from agui_host.runtimes.builtin.doc_search import Section
from agui_host.runtimes.builtin.docs import QUOTED, docs, quoted
from tests.runtimes.playing import of, play, run_input, text_of

GUIDE = """# Guide

Welcome.

## Cancel a run

Send a POST to the cancel route. The worker closes what is open.

```sh
# not a heading
curl -X POST /cancel
```

## Agents

### Default agent

The team's default answers when no slug is named.
"""


@pytest.fixture(autouse=True)
def _pages(tmp_path: Path, settings: Settings) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs" / "adr").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Host\n\nKeeps every event in Postgres.\n")
    (tmp_path / "docs" / "guide.md").write_text(GUIDE)
    (tmp_path / "docs" / "adr" / "0001.md").write_text("# Durable events\n\nBefore anyone looks.\n")


def test_pages_are_split_at_their_headings() -> None:
    sections = {section.heading: section for section in doc_search.library().sections}
    assert list(sections) == [
        "Host", "Guide", "Guide › Cancel a run", "Guide › Agents › Default agent",
    ]  # fmt: skip
    assert "# not a heading" in sections["Guide › Cancel a run"].body
    assert sections["Guide › Cancel a run"].anchor == "docs/guide.md#cancel-a-run"


def test_a_changed_page_is_read_again(tmp_path: Path) -> None:
    before = doc_search.library()
    assert doc_search.library() is before
    (tmp_path / "README.md").write_text("# Renamed\n\nText.\n")
    assert doc_search.library().sections[0].heading == "Renamed"


async def test_an_answer_quotes_the_best_section_and_says_where_it_is() -> None:
    events = await play(docs, run_input("How do I cancel a run?"))
    (start,), (result,) = of(events, "TOOL_CALL_START"), of(events, "TOOL_CALL_RESULT")
    assert start["toolCallName"] == "search_docs"
    assert result["toolCallId"] == start["toolCallId"]
    (delta,) = of(events, "STATE_DELTA")
    citations = delta["delta"][0]["value"]
    assert citations[0]["file"] == "docs/guide.md"
    assert citations[0]["heading"] == "Guide › Cancel a run"
    assert "The worker closes what is open." in text_of(events)
    assert "docs/guide.md#cancel-a-run" in text_of(events)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("keeps banana", "closest"),
        ('"default answers"', "Default agent"),
        ("xyzzy", "nothing about"),
        ("the of and", "nothing about"),
        ("!!! & | <->", "nothing about"),
        ("nul \x00 and \ud800 postgres", "Postgres"),
        ("zz " * 5_000, "nothing about"),
    ],
)
async def test_questions_of_all_sorts(question: str, expected: str) -> None:
    events = await play(docs, run_input(question))
    assert expected in text_of(events)


async def test_it_says_what_it_can_do_when_nothing_is_asked() -> None:
    events = await play(docs, run_input(""))
    assert "Ask me" in text_of(events)
    assert of(events, "TOOL_CALL_START") == []


def test_a_long_section_is_cut_at_a_paragraph_and_its_code_closed() -> None:
    body = "```\n" + "line of code\n\n" * 300
    cut = quoted(body)
    assert len(cut) < QUOTED + 20
    assert cut.count("```") == 2
    assert quoted("short") == "short"


def test_no_pages_are_no_error(tmp_path: Path, settings: Settings) -> None:
    settings.BASE_DIR = tmp_path / "elsewhere"
    assert doc_search.library().sections == ()


def test_text_before_any_heading_is_told_by_its_file() -> None:
    sections: list[Any] = list(doc_search.split("a.md", "Only text."))
    assert sections == [Section("a.md", "a.md", "Only text.")]
