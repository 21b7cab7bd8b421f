"""The overview and the page of usage, and the form for prices."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.backends.postgres.servers.replica import reading
from agui_host.dashboard.overview import first_steps, overview, usage
from agui_host.dashboard.pages import action, page
from agui_host.prices import Price, parse
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.teams.authentication import Principal
from runs.access.notices import warnings
from runs.access.usage import prices
from runs.lifecycle.usage import team_prices

MOST_PAGES = 100
LONGEST = 20_000
"""Characters of the form for prices."""


@page
@reading
def home(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The team's overview."""
    days = _days(request, overview.PERIODS, overview.USUAL)
    context = {
        "principal": principal,
        "overview": overview.of(principal, days),
        "standing": warnings.standing(principal),
        "steps": first_steps.of(principal),
        "periods": overview.PERIODS,
        "host": f"{request.scheme}://{request.get_host()}",
    }
    return render(request, "overview/overview.html", context)


@page
@reading
def spending(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The usage of the team, its limits, and the prices of its models."""
    way = request.GET.get("by", "")
    way = way if way in usage.WAYS else usage.WAYS[0]
    days = _days(request, usage.PERIODS, usage.USUAL)
    if request.GET.get("format") == "csv":
        return usage.as_csv(principal, way, days)
    number = whole(request.GET.get("page", ""), 1, MOST_PAGES) or 1
    own = prices.own(principal)
    context = {
        "principal": principal,
        "usage": usage.of(principal, way, days, number),
        "meters": usage.meters(principal),
        "late": usage.late(),
        "periods": usage.PERIODS,
        "ways": usage.WAYS,
        "prices": own,
        "lines": "\n".join(_line(row.model, row.price) for row in own),
        "usual": team_prices.usual(),
    }
    return render(request, "overview/usage.html", context)


@action("usage")
def set_prices(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Replace the team's prices by the lines of the form."""
    prices.replace(principal, _values(request.POST.get("prices", "")))
    messages.success(request, "The prices were saved. They apply to runs that end from now on.")
    return redirect("usage")


def _values(text: str) -> list[dict[str, object]]:
    if len(text) > LONGEST:
        raise Invalid("These are too many prices.")
    values = []
    for line in filter(None, map(str.strip, text.splitlines())):
        try:
            ((model, price),) = parse([line]).items()
        except ValueError as error:
            raise Invalid(f"{line[:60]}: {error}.") from None
        values.append(
            {"model": model, "input": price.input, "output": price.output, "cached": price.cached}
        )
    return values


def _line(model: str, price: Price) -> str:
    parts = [price.input, price.output, *([] if price.cached is None else [price.cached])]
    return f"{model} = {' / '.join(f'{part:.10g}' for part in parts)}"


def _days(request: HttpRequest, periods: tuple[int, ...], usual: int) -> int:
    days = whole(request.GET.get("days", ""), 1, max(periods))
    return days if days in periods else usual
