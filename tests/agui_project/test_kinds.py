"""The kind that a view declares, as a function or as a class."""

from django.http import HttpRequest, HttpResponse
from django.views import View

from agui_host.kinds import START, WRITE, kind_of, starts


def test_a_view_writes_unless_it_declares_that_it_starts() -> None:
    def plain(_: HttpRequest) -> HttpResponse:
        return HttpResponse()

    class Page(View):
        pass

    assert (kind_of(plain), kind_of(Page.as_view())) == (WRITE, WRITE)
    assert kind_of(starts(plain)) == START
    assert kind_of(starts(Page).as_view()) == START
