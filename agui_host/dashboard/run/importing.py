"""The page that imports a run from a file. A form; it works without JavaScript."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.pages import both
from agui_host.protocol.errors import HostError, Invalid
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.inspect import archives


@both
def import_run(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Ask for an archive, and show the run that it becomes, or its faults."""
    access.require(principal, "run")
    if request.method != "POST":
        return render(request, "runs/import.html", {"principal": principal})
    upload = request.FILES.get("archive")
    try:
        if upload is None:
            raise Invalid("Choose a file.")
        run = archives.restore(principal, upload.read())
    except HostError as error:
        context = {"principal": principal, "problem": error.message}
        return render(request, "runs/import.html", context, status=error.status)
    messages.success(request, "The run was imported.")
    return redirect("run", run.pk)
