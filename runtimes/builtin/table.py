"""The ``table`` agent: takes a CSV and streams a profile of it into the state."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from runtimes import RunContext, agent
from runtimes.attachments import document
from runtimes.builtin.csv_profile import DELIMITERS, Profile, delimiter_of, records

SLICE = 0.005  # seconds of work; as long a rest follows, since other runs share the process
ROWS_A_LOOK = 50
REPORTS = 50
SHOWN_COLUMNS = 30
FENCED = re.compile(r"```[\w-]*\r?\n(.*?)```", re.DOTALL)
ROWS = re.compile(r"\S[^\r\n]*[\r\n]\s*\S")  # two lines with something in them
HELP = (
    "Send me a CSV: as the text of your message, as a document part (text/csv, base64 data), or in "
    "the state under `csv`. I stream a profile of it into the state under `profile`: rows, "
    "columns, types, missing and distinct values, statistics and histograms."
)
SCHEMA = {
    "type": "object",
    "properties": {
        "csv": {"type": "string", "description": "The CSV to profile, if no message has one."},
        "profile": {"type": "object", "description": "What is in it; grows while it is read."},
    },
}


@agent("table", description="Profiles a CSV while you watch.", state_schema=SCHEMA)
async def table(ctx: RunContext) -> AsyncIterator[str]:
    """Find the CSV, read it in slices, tell the progress and then each column."""
    found = source(ctx)
    if found is None:
        yield HELP
        return
    text, delimiter = found, delimiter_of(found)
    rows = records(text, delimiter)
    profile = Profile(next(rows, []))
    state = ctx.state
    state["profile"] = {
        "delimiter": delimiter,
        "rows": 0,
        "raggedRows": 0,
        "done": False,
        "columns": [{"name": column.name} for column in profile.columns],
    }
    with ctx.step("read"):
        every = max(1, text.count("\n") // REPORTS)
        await read(ctx, profile, rows, every)
    with ctx.step("profile"):
        for index, column in enumerate(profile.columns):
            state["profile"]["columns"][index] = column.profile()
            await asyncio.sleep(0)
        state["profile"].update(rows=profile.rows, raggedRows=profile.ragged, done=True)
    for line in summary(state["profile"].copy()):
        yield line


async def read(ctx: RunContext, profile: Profile, rows: Iterator[list[str]], every: int) -> None:
    """Take all rows; a report each ``every`` rows, a rest each ``SLICE`` seconds."""
    until = time.perf_counter() + SLICE
    shown = ctx.state["profile"]
    for row in rows:
        profile.add(row)
        if profile.rows % every == 0:
            shown["rows"] = profile.rows
            await ctx.drain()
        if profile.rows % ROWS_A_LOOK == 0 and time.perf_counter() > until:
            await asyncio.sleep(SLICE)
            until = time.perf_counter() + SLICE


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
    """What is worth saying about one column."""
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
    fenced = FENCED.search(ctx.text)
    text = fenced.group(1) if fenced else without_request(ctx.text)
    given = ctx.state.get("csv")
    has_rows = ROWS.search(text) is not None
    tabular = has_rows and any(mark in text for mark in DELIMITERS)
    if isinstance(given, str) and given.strip() and not tabular:
        return given
    return text if has_rows else None


def without_request(text: str) -> str:
    """The text without a first line such as "Profile this:", which is no header."""
    first, _, rest = text.lstrip().partition("\n")
    is_request = first.rstrip().endswith(":") and "," not in first and rest.strip()
    return rest if is_request else text
