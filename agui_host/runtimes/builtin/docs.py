"""The ``docs`` agent: answers questions about this host from its own documentation."""

from asyncio import to_thread
from collections.abc import Iterator

from agui_host.runtimes import RunContext, agent
from agui_host.runtimes.builtin import doc_search
from agui_host.runtimes.builtin.doc_search import Section
from agui_host.runtimes.context.request import beginning

QUOTED = 1_500
MOST_ASKED = 1_000
HELP = (
    "I answer questions about this host from its own documentation, and say where I found it. "
    'Ask me, for example: "how do I host my own agent?"'
)


@agent(
    "docs",
    description="Answers questions about this host from its documentation.",
    state_schema={
        "type": "object",
        "properties": {
            "citations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string"},
                        "heading": {"type": "string"},
                        "anchor": {"type": "string"},
                    },
                },
            }
        },
    },
)
async def docs(ctx: RunContext) -> None:
    """Search, quote the best section, list where it and the next ones are."""
    question = beginning(ctx.text, MOST_ASKED)
    if not question:
        say(ctx, HELP)
        return
    with ctx.step("search"):
        with ctx.tool_call("search_docs", {"query": question}) as call:
            pass
        hits, exact = await to_thread(lambda: doc_search.library().search(question))
        places = [cited(section) for section in hits]
        call.result({"sections": places})
    ctx.state["citations"] = places
    say(ctx, *(answer(hits, exact) if hits else nothing(question)))


def say(ctx: RunContext, *pieces: str) -> None:
    """Say the pieces as one message."""
    with ctx.message() as message:
        for piece in pieces:
            message.write(piece)


def cited(section: Section) -> dict[str, str]:
    """Where a section is, for the answer's sources."""
    return {"file": section.file, "heading": section.heading, "anchor": section.anchor}


def answer(hits: list[Section], exact: bool) -> Iterator[str]:
    """The best section, quoted, and the list of all."""
    best = hits[0]
    if not exact:
        yield "No section has all of your words; this one comes closest.\n\n"
    yield f"**{best.heading}**\n\n"
    yield from quoted(best.body).splitlines(keepends=True)
    yield "\n\nFrom:\n"
    for number, section in enumerate(hits, 1):
        yield f"{number}. [{section.heading}]({section.anchor}) in `{section.file}`\n"


def quoted(body: str) -> str:
    """The beginning of a section: whole paragraphs if possible, else whole lines (a table)."""
    if len(body) <= QUOTED:
        return body
    cut = body[:QUOTED]
    ends = (cut.rfind("\n\n"), cut.rfind("\n"), cut.rfind(" "))
    excerpt = cut[: next((end for end in ends if end > QUOTED // 3), QUOTED)]
    fence = "\n```" if excerpt.count("```") % 2 else ""
    return f"{excerpt}{fence}\n\n…"


def nothing(question: str) -> Iterator[str]:
    """Say honestly that nothing matches, and list the pages."""
    yield f'I found nothing about "{question[:80]}" in the documentation of this host.\n\n'
    pages = sorted({section.file for section in doc_search.library().sections})
    if pages:
        yield "These are its pages: " + ", ".join(f"`{page}`" for page in pages) + ".\n"
