"""``/docs/``: the pages of the documentation and a search in them, for everybody."""

import re

from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from agui_host.dashboard.manual import files, rendering
from agui_host.runtimes.builtin import doc_search

LONGEST_QUESTION = 200
MOST_HITS = 10
MARKS = re.compile(r"\[([^\]]*)\]\([^)]*\)|```\w*|[`|*]|-{3,}")
"""Marks of Markdown that say nothing in an excerpt; the text of a link stays."""


@require_safe
def page(request: HttpRequest, name: str = "") -> HttpResponseBase:
    """A page as HTML, or a picture; ``?q=`` on the front page lists the sections that match."""
    file = files.served().get(name)
    if file is None:
        raise Http404
    if file.suffix in files.PICTURES:
        return FileResponse(file.open("rb"), content_type=files.PICTURES[file.suffix])
    if file.suffix != ".md":
        return FileResponse(file.open("rb"), content_type="text/plain; charset=utf-8")
    root = reverse("manual")
    question = request.GET.get("q", "").strip()[:LONGEST_QUESTION]
    context = {
        "page": rendering.rendered(file, root),
        "name": name,
        "groups": [
            (title, [(each, files.title(each)) for each in names])
            for title, names in files.grouped()
        ],
        "question": question,
        "hits": _hits(question, root) if question else [],
    }
    return render(request, "manual/page.html", context)


def _hits(question: str, root: str) -> list[tuple[str, str, str]]:
    """Address, heading and beginning of each section that matches, best first."""
    sections, _ = doc_search.library().search(question, MOST_HITS)
    targets = [(files.resolved("", section.anchor), section) for section in sections]
    return [
        (f"{root}{target}", section.heading, MARKS.sub(r"\1", section.body))
        for target, section in targets
        if target is not None
    ]
