"""The ``table`` agent: takes a CSV and streams a profile of it into the state."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from agui_host.runtimes import RunContext, agent
from agui_host.runtimes.builtin import csv_profile
from agui_host.runtimes.builtin.child_process import in_child_process
from agui_host.runtimes.builtin.csv_profile import DELIMITERS, MOST_COLUMNS
from agui_host.runtimes.context.attachments import document

SMALL = 100_000
"""Characters that are profiled in this process, in some ten milliseconds; a child starts slower."""
SHOWN_COLUMNS = 30
FENCE = "```"
LONGEST_LABEL = 40
HELP = (
    "Send me a CSV: as the text of your message, as a document part (text/csv, base64 data), or in "
    "the state under `csv`. I stream a profile of it into the state under `profile`: rows, "
    "columns, types, missing and distinct values, statistics and histograms."
)
SCHEMA = {
    "type": "object",
    "properties": {
        "csv": {"type": "string", "description": "The CSV to profile, if no message has one."},
        "profile": {"type": "object", "description": "The profile; grows while the CSV is read."},
    },
}


@agent("table", description="Profiles a CSV while you watch.", state_schema=SCHEMA)
async def table(ctx: RunContext) -> AsyncIterator[str]:
    """Find the CSV, read it, report progress and then each column."""
    text = source(ctx)
    if text is None:
        yield HELP
        return
    state = ctx.state
    columns: list[dict[str, Any]] = []
    async with aclosing(reading(text)) as steps:
        with ctx.step("read"):
            async for step in steps:
                if "wide" in step:
                    yield f"This has {step['wide']:,} columns; I can profile {MOST_COLUMNS:,}."
                    return
                if "column" in step:
                    columns.append(step["column"])
                    break
                if "names" in step:
                    state["profile"] = {
                        "delimiter": step["delimiter"],
                        "rows": 0,
                        "raggedRows": 0,
                        "done": False,
                        "columns": [{"name": name} for name in step["names"]],
                    }
                else:
                    state["profile"]["rows"] = step["rows"]
                await ctx.drain()
        with ctx.step("profile"):
            if columns:
                state["profile"]["columns"][0] = columns[0]
            async for step in steps:
                if "column" in step:
                    state["profile"]["columns"][len(columns)] = step["column"]
                    columns.append(step["column"])
                    await asyncio.sleep(0)
                else:
                    ragged = step.get("ragged", 0)
                    state["profile"].update(rows=step["rows"], raggedRows=ragged, done=True)
    for line in summary(state["profile"].copy()):
        yield line


async def reading(text: str) -> AsyncGenerator[dict[str, Any], None]:
    """The steps of ``csv_profile``: here for a small text, in a child process for a large one."""
    if len(text) <= SMALL:
        for step in csv_profile.steps(text):
            yield step
        return
    async with aclosing(
        in_child_process("agui_host.runtimes.builtin.csv_profile:steps", text)
    ) as steps:
        async for step in steps:
            yield step


def summary(profile: dict[str, Any]) -> Iterator[str]:
    """The profile in words, line by line."""
    columns = profile["columns"]
    yield f"{profile['rows']:,} rows, {len(columns):,} columns.\n"
    if profile["raggedRows"]:
        yield f"{profile['raggedRows']:,} rows are longer or shorter than the header.\n"
    for column in columns[:SHOWN_COLUMNS]:
        yield "- " + ", ".join(facts(column)) + "\n"
    if len(columns) > SHOWN_COLUMNS:
        yield f"- and {len(columns) - SHOWN_COLUMNS:,} more\n"


def facts(column: dict[str, Any]) -> Iterator[str]:
    """The notable facts about one column."""
    more = "more than " if column["distinctCapped"] else ""
    yield f"**{column['name']}**: {column['type']}"
    yield f"{more}{column['distinct']:,} distinct"
    if column["missing"]:
        yield f"{column['missing']:,} missing"
    if "mean" in column:
        yield f"{column['min']:g} to {column['max']:g}"
        yield f"mean {column['mean']:g}"
    elif column.get("top"):
        yield f"most often {column['top'][0]['value'][:40]!r}"


def source(ctx: RunContext) -> str | None:
    """The CSV of the last user message (document part, then text), or of the state."""
    for message in reversed(ctx.messages):
        if message.get("role") == "user":
            content = message.get("content")
            for part in content if isinstance(content, list) else []:
                text = document(part) if isinstance(part, dict) else None
                if text is not None:
                    return text
            break
    fenced = fenced_in(ctx.text)
    text = fenced if fenced is not None else without_request(ctx.text)
    from_state = ctx.state.get("csv")
    trimmed = text.strip()
    has_rows = "\n" in trimmed or "\r" in trimmed  # two lines that are not empty
    tabular = has_rows and any(mark in text for mark in DELIMITERS)
    if isinstance(from_state, str) and from_state.strip() and not tabular:
        return from_state
    return text if has_rows else None


def fenced_in(text: str) -> str | None:
    """The text between the first two fences; the first can be followed by a language."""
    start, line_end = text.find(FENCE), -1
    while start >= 0:
        if line_end < start and (line_end := text.find("\n", start)) < 0:
            return None
        label = text[start + len(FENCE) : min(line_end, start + LONGEST_LABEL)].rstrip("\r")
        if start + LONGEST_LABEL > line_end and all(c.isalnum() or c in "_-" for c in label):
            end = text.find(FENCE, line_end)
            return text[line_end + 1 : end] if end > 0 else None
        start = text.find(FENCE, start + 1)
    return None


def without_request(text: str) -> str:
    """The text without a first line such as "Profile this:", which is not a header."""
    first, _, rest = text.lstrip().partition("\n")
    is_request = first.rstrip().endswith(":") and "," not in first and rest.strip()
    return rest if is_request else text
