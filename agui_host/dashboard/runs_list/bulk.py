"""Actions of the runs list on many runs at once, on each as if it were the only one."""

from collections import Counter
from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from agui_host.dashboard import listing
from agui_host.dashboard.pages import action
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.teams.authentication import Principal
from runs.access import access, threads
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import erasure
from runs.models import ACTIVE

MOST = 100
"""Runs of one request."""
REFUSALS = {
    "not_found": "no longer there",
    "forbidden": "not allowed",
    "thread_busy": "not ended yet",
    "legal_hold": "under legal hold",
}
"""By the code of the error."""


@action("runs")
def act(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Cancel, erase or compare the chosen runs, or change the tags of their threads."""
    keys = _chosen(request.POST)
    if request.POST.get("act") == "compare":
        return _compared(keys)
    verb = VERBS.get(request.POST.get("act", ""))
    if verb is None:
        raise BadRequest("There is no such act.", details={"path": "act"})
    back = listing.filters_of(QueryDict(request.POST.get("query", ""))).urlencode()
    if verb is _erase and request.POST.get("confirmed") != "yes":
        access.require(principal, "delete")
        return render(request, "runs/erase.html", {"keys": keys, "query": back})
    outcomes: Counter[str] = Counter()
    try:
        for key in keys if verb not in (_tag, _untag) else _thread_keys(principal, keys):
            outcomes[_outcome(verb, principal, key, request.POST)] += 1
    finally:
        # Actions before a failure stay done.
        if outcomes:
            counts = ", ".join(f"{number} {what}" for what, number in outcomes.items())
            messages.info(request, f"{counts}.")
    return redirect(f"{reverse('runs')}?{back}" if back else reverse("runs"))


def _compared(keys: list[UUID]) -> HttpResponse:
    """The page of two runs side by side, the older one first."""
    if len(keys) != 2:
        raise BadRequest("Choose two runs to compare.", details={"path": "run"})
    older, newer = sorted(keys)
    return redirect(f"{reverse('run-compare', args=[newer])}?with={older}")


def _chosen(form: QueryDict) -> list[UUID]:
    texts = list(dict.fromkeys(form.getlist("run")))
    if not texts:
        raise BadRequest("Choose runs first.", details={"path": "run"})
    if len(texts) > MOST:
        raise BadRequest(f"Choose at most {MOST} runs.", details={"path": "run"})
    return [key for key in (listing.key_of("run", text) for text in texts) if key]


def _thread_keys(principal: Principal, keys: list[UUID]) -> list[UUID]:
    runs = access.visible(principal).filter(pk__in=keys)
    return list(dict.fromkeys(runs.values_list("thread_id", flat=True)))


def _outcome(verb: "Verb", principal: Principal, key: UUID, form: QueryDict) -> str:
    try:
        return verb(principal, key, form)
    except HostError as error:
        if error.code not in REFUSALS:
            raise
        return REFUSALS[error.code]


def _cancel(principal: Principal, key: UUID, form: QueryDict) -> str:
    run = access.find(principal, key, "cancel")
    if run.status not in ACTIVE:
        return "had ended"
    lifecycle.cancel(run, principal)
    return "cancelled"


def _erase(principal: Principal, key: UUID, form: QueryDict) -> str:
    run = access.find(principal, key)
    access.require_for(principal, "delete", run)
    erasure.erase_run(principal, run)
    return "erased"


def _tag(principal: Principal, key: UUID, form: QueryDict) -> str:
    changed = threads.retag(principal, key, add=_tag_of(form))
    return "tagged" if changed else "had the tag"


def _untag(principal: Principal, key: UUID, form: QueryDict) -> str:
    changed = threads.retag(principal, key, remove=_tag_of(form))
    return "lost the tag" if changed else "did not have the tag"


def _tag_of(form: QueryDict) -> str:
    tag = form.get("tag", "").strip()
    if not 0 < len(tag) <= threads.LONGEST_TAG or not tag.isprintable():
        message = f"Write a tag of at most {threads.LONGEST_TAG} characters."
        raise BadRequest(message, details={"path": "tag"})
    return tag


Verb = Callable[[Principal, UUID, QueryDict], str]
VERBS: dict[str, Verb] = {"cancel": _cancel, "erase": _erase, "tag": _tag, "untag": _untag}
