"""Leaving for an identity provider."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def left_by_page(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """A page in place of a form's redirect elsewhere: ``form-action 'self'`` covers redirects."""
    away = answer.headers.get("Location", "")
    if request.method != "POST" or "://" not in away:
        return answer
    page = render(request, "account/leaving.html", {"away": away})
    page.cookies = answer.cookies
    return page
