"""The rows of the runs list, and their cells.

Not templates: fifty rows took a third of the page's time, and to include a template for a cell as
long as ten cells take here.
"""

from collections.abc import Callable, Iterable

from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from agui_host import links
from agui_host.dashboard import listing
from agui_host.dashboard.runs_list import status
from agui_host.dashboard.runs_list.columns import Column, tokens
from agui_host.dashboard.templatetags import clock
from agui_host.dashboard.templatetags.dashboard import person, thousands
from runs.models import Run

ROW = """<tr id="run-{pk}"{swapped}>
  {pick}<td class="status">{chip}{watched}</td>
  <td class="name"><a id="to-{pk}" href="{page}"><b><bdi>{agent}</bdi></b>
    <bdi class="asked">{asked}</bdi></a></td>
  {cells}
  <td class="num age"><time data-at datetime="{iso}">{at}</time></td>
</tr>"""
PICK = """<td class="pick"><input id="pick-{pk}" type="checkbox" name="run" value="{pk}" form="bulk"
    hx-preserve autocomplete="off" aria-label="Choose this run of {agent}"></td>
  """
WATCHED = '<input type="hidden" class="watched" name="active" value="{}">'
SWAPPED = mark_safe(' hx-swap-oob="true"')
NONE = "–"


def of(
    runs: Iterable[Run], columns: list[Column], *, picks: bool, swapped: bool = False
) -> list[SafeString]:
    """The row of each run. ``picks``: with a box to choose it.

    ``swapped``: the rows replace those of an open page.
    """
    return [_row(run, columns, picks=picks, swapped=swapped) for run in runs]


def _row(run: Run, columns: list[Column], *, picks: bool, swapped: bool) -> SafeString:
    pk, agent = str(run.pk), run.agent.slug
    return format_html(
        ROW,
        pk=pk,
        swapped=SWAPPED if swapped else "",
        pick=format_html(PICK, pk=pk, agent=agent) if picks else "",
        chip=status.chip(run),
        watched=format_html(WATCHED, listing.stamp(run)) if listing.is_active(run) else "",
        page=links.page("run", run.pk),
        agent=agent,
        asked=run.asked or "",
        cells=_cells(run, columns),
        iso=clock.iso(run.created_at),
        at=clock.day_time(timezone.localtime(run.created_at)),
    )


def _cells(run: Run, columns: list[Column]) -> SafeString:
    parts = ((column.opening, _cell(run, column)) for column in columns)
    return format_html_join("", "{}{}</td>", parts)


def _cell(run: Run, column: Column) -> str:
    if column.counts:
        return _number(getattr(run, column.counts), NONE)
    return CELLS[column.name](run)


def _number(number: int | None, none: str = "") -> str:
    return none if number is None else str(number)


def _code(text: str) -> SafeString:
    return format_html('<code title="{}">{}</code>', text, text)


def _tags(run: Run) -> SafeString:
    rows = ((tag,) for tag in run.thread.tags)
    return format_html_join("", '<span class="tag"><bdi>{}</bdi></span> ', rows)


def _span(run: Run) -> str:
    if run.started_at is None:
        return NONE
    return format_html(
        '<time data-since="{}" data-until="{}">{}</time>',
        clock.iso(run.started_at),
        clock.iso(run.ended_at),
        clock.span(run.started_at, run.ended_at),
    )


def _first(run: Run) -> str:
    return NONE if run.ttft_ms is None else f"{run.ttft_ms} ms"


def _waited(run: Run) -> str:
    return NONE if run.started_at is None else clock.span(run.created_at, run.started_at)


CELLS: dict[str, Callable[[Run], str]] = {
    "thread": lambda run: _code(run.thread.thread_id),
    "title": lambda run: format_html("<bdi>{}</bdi>", run.thread.title) if run.thread.title else "",
    "tags": _tags,
    "run": lambda run: _code(run.run_id),
    "by": lambda run: format_html("<bdi>{}</bdi>", person(run.started_by)),
    "error": lambda run: escape(run.error_code),
    "findings": lambda run: _number(vars(run)["findings_count"] or None),
    "events": lambda run: thousands(run.journal.head),
    "bytes": lambda run: filesizeformat(run.journal.bytes),
    "tokens": lambda run: _number(tokens(run)),
    "waited": _waited,
    "first": _first,
    "cost": lambda run: NONE if run.cost is None else f"${run.cost:.4f}",
    "span": _span,
}
