"""Data sets: make one, review its runs, run them again, and compare."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from agui_host.dashboard.forms import submitted
from agui_host.dashboard.pages import Question, action, both, page
from agui_host.kinds import starts
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.evaluation import data_sets, former, labels, lines, trials
from runs.access.inspect import saved_views
from runs.access.start import UnknownAgent
from runs.api.evaluation import viewed
from runs.api.evaluation.resource import as_file

MOST = 100


class DataSetForm(forms.Form):
    """A new data set of the newest ended runs."""

    name = forms.CharField(label="Name", max_length=120)


class AddForm(forms.Form):
    """The newest ended runs of an agent and with a label, for a data set."""

    most = forms.IntegerField(
        label="Newest runs", min_value=1, max_value=data_sets.MOST_RUNS, initial=20
    )
    agent = forms.SlugField(label="Agent (empty: all)", max_length=64, required=False)
    label = forms.CharField(label="Label (empty: all)", max_length=40, required=False)
    view = forms.UUIDField(label="Or of a saved view", required=False, widget=forms.Select)

    def __init__(self, *args: Any, principal: Principal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        views = saved_views.visible(principal).order_by("name").values_list("pk", "name")
        widget = self.fields["view"].widget
        assert isinstance(widget, forms.Select)  # noqa: S101
        widget.choices = [("", "none"), *((str(pk), name) for pk, name in views)]


@both
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The data sets, and the form that makes one."""
    if request.method != "POST":
        return _list(request, principal, DataSetForm())
    principal.require("comment")
    form = DataSetForm(request.POST)
    row = submitted(form, lambda fields: data_sets.create(principal, fields["name"]))
    return _list(request, principal, form) if row is None else redirect("data-set", row.pk)


@page
def detail(request: HttpRequest, principal: Principal, data_set_id: UUID) -> HttpResponse:
    """The runs of a data set, and its trials."""
    row = data_sets.find(principal, data_set_id)
    to_review = request.GET.get("show") == "review"
    runs = list(data_sets.runs_of(principal, row, to_review=to_review))
    named = labels.by_run(runs)
    agents = Agent.objects.for_team(principal.team).filter(enabled=True).order_by("slug")
    chosen = agents.filter(slug=request.GET.get("agent", "")).first()
    context = {
        "data_set": row,
        "rows": [(run, named[run.pk]) for run in runs],
        "to_review": to_review,
        "trials": trials.of(principal, row),
        "form": AddForm(principal=principal),
        "agents": agents.values_list("slug", flat=True),
        "chosen": chosen,
        "versions": former.choices(chosen) if chosen and principal.can("manage_agents") else [],
        "most": data_sets.MOST_RUNS,
        "formats": list(lines.FORMS),
    }
    return render(request, "evaluation/data_set.html", context)


@action("data-set")
def add(request: HttpRequest, principal: Principal, data_set_id: UUID) -> HttpResponse:
    """Add the newest runs."""
    data_sets.find(principal, data_set_id)
    principal.require("comment")
    form = AddForm(request.POST, principal=principal)
    added = submitted(
        form,
        lambda fields: data_sets.add(principal, data_set_id, viewed.newest(principal, **fields)),
    )
    if added is None:
        problems = " ".join(str(problem) for rows in form.errors.values() for problem in rows)
        raise Invalid(f"No runs were added. {problems}")
    messages.success(request, f"{added} {'run was' if added == 1 else 'runs were'} added.")
    return redirect("data-set", data_set_id)


@action("data-set")
def label(request: HttpRequest, principal: Principal, data_set_id: UUID) -> HttpResponse:
    """Label a run of the data set, as good or bad for example; then back to the queue."""
    row = data_sets.find(principal, data_set_id)
    principal.require("comment")
    chosen = data_sets.runs_of(principal, row).filter(pk=_key(request)).first()
    if chosen is not None:
        labels.add(principal, chosen.pk, request.POST.get("label", ""))
    answer = redirect("data-set", data_set_id)
    if request.POST.get("show") == "review":
        answer["Location"] += "?show=review"
    return answer


@action("run")
def label_run(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """Add a label to a run, or take one off; then back to its page, or to its conversation."""
    if off := request.POST.get("off", ""):
        labels.remove(principal, run_id, off)
    else:
        labels.add(principal, run_id, request.POST.get("label", ""))
    if request.POST.get("page") == "thread":
        thread = access.find(principal, run_id).thread_id
        return redirect(f"{reverse('thread', args=[thread])}#turn-{run_id}")
    return redirect("run", run_id)


@starts
@action("data-set")
def try_again(request: HttpRequest, principal: Principal, data_set_id: UUID) -> HttpResponse:
    """Run the data set again with an agent, or a former version of it."""
    agent, version = (request.POST.get(name, "") for name in ("agent", "version"))
    if not (agent + version).isprintable():
        raise UnknownAgent
    row = trials.start(principal, data_set_id, agent, version)
    return redirect("trial", row.pk)


@page
def export(request: HttpRequest, principal: Principal, data_set_id: UUID) -> HttpResponse:
    """The data set as lines of JSON."""
    row = data_sets.find(principal, data_set_id)
    form = request.GET.get("form", "")
    return as_file(
        b"".join(lines.of(principal, row, form if form in lines.FORMS else next(iter(lines.FORMS))))
    )


@action(
    "data-set",
    asks=Question(
        "Delete this data set?", "Its trials are deleted as well. All runs stay.", "Delete"
    ),
)
def remove(request: HttpRequest, principal: Principal, data_set_id: UUID) -> HttpResponse:
    """Delete a data set."""
    data_sets.remove(principal, data_set_id)
    return redirect("data-sets")


@page
def trial(request: HttpRequest, principal: Principal, trial_id: UUID) -> HttpResponse:
    """A trial: its runs before and after, side by side."""
    row = trials.find(principal, trial_id)
    pairs = trials.pairs(principal, row)
    context = {
        "trial": row,
        "pairs": pairs,
        "different": sum(pair.differs for pair in pairs),
    }
    return render(request, "evaluation/trial.html", context)


@starts
@action("trial")
def go_on(request: HttpRequest, principal: Principal, trial_id: UUID) -> HttpResponse:
    """Start the runs that a limit has held up."""
    trials.go_on(principal, trial_id)
    return redirect("trial", trial_id)


def _list(request: HttpRequest, principal: Principal, form: DataSetForm) -> HttpResponse:
    context: dict[str, Any] = {"rows": data_sets.visible(principal)[:MOST], "form": form}
    return render(request, "evaluation/list.html", context, status=422 if form.errors else 200)


def _key(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.POST.get("run", ""))
    except ValueError:
        return None
