"""``manage.py replay``: a stored run, played again with its effects."""

import uuid
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import registry
from tests.runs.playing import Play, play

__all__ = ["play"]
pytestmark = pytest.mark.django_db(transaction=True)
CALLS: list[int] = []


def charge(amount: int) -> int:
    CALLS.append(amount)
    return len(CALLS)


async def paying(ctx: Any) -> Any:
    with ctx.tool_call("charge", {"amount": 42}) as call:
        call.result(await ctx.once("charge", charge, 42))
    yield "Paid."


async def other(ctx: Any) -> Any:
    yield "Not paid."


def replay(*arguments: Any) -> tuple[int, str]:
    out, code = StringIO(), 0
    try:
        call_command("replay", *map(str, arguments), stdout=out)
    except SystemExit as left:
        code = int(left.code or 0)
    return code, out.getvalue()


async def test_a_run_its_saved_archive_and_another_agent(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CALLS.clear()
    run, log = await play(paying)
    same = f": the same {len(log)} events\n"
    assert await db(replay, run.pk) == (0, f"{run.pk}{same}")
    file = tmp_path / "archives" / f"{run.pk}.jsonl"
    assert await db(replay, run.pk, "--save", tmp_path / "archives") == (0, f"{file}\n")
    assert await db(replay, tmp_path / "archives") == (0, f"{file}{same}")
    assert CALLS == [42], "only the run itself has paid"
    entry = registry.Registered("other", "", "", None, None, True, other)
    monkeypatch.setitem(registry._agents, "other", entry)
    code, text = await db(replay, file, "--agent", "other")
    assert code == 1
    assert text == (
        f"{file} diverges at event 2: TOOL_CALL_START was recorded, TEXT_MESSAGE_START was played\n"
    )


async def test_what_cannot_be_replayed(tmp_path: Path) -> None:
    for argument, text in (
        ("nonsense", "is no run's id, file or folder"),
        (str(uuid.uuid4()), "There is no run"),
        (str(tmp_path), "There is no archive"),
        (str(Path(__file__)), "is not the archive of a run"),
    ):
        with pytest.raises(CommandError, match=text):
            await db(replay, argument)
