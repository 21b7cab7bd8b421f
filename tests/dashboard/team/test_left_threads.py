"""The page of threads that were left behind, with plain forms."""

from agui_host.teams.models import Membership
from runs.lifecycle import lifecycle
from runs.models import Thread, Visibility
from tests.cast import Cast, start
from tests.dashboard.conftest import SURE, Browse

PAGE = "/team/threads/"


def left(cast: Cast, name: str) -> Thread:
    run = start(cast.bob, threadId=name, messages=[{"role": "user", "content": "Top secret"}])
    lifecycle.cancel(run)
    Thread.objects.filter(pk=run.thread_id).update(visibility=Visibility.PRIVATE, title="Secret")
    return Thread.objects.get(pk=run.thread_id)


def test_an_owner_hands_one_over_and_erases_another(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.alice)
    first, second = left(cast, "one"), left(cast, "two")
    assert "No threads were left behind" in browser.get(PAGE).content.decode()
    Membership.objects.of_one_person().filter(user=cast.bob.user).delete()
    page = browser.get(PAGE).content.decode()
    assert f'action="{PAGE}{first.pk}/hand-over"' in page
    assert f'action="{PAGE}{second.pk}/erase"' in page
    assert "ecret" not in page
    vera = Membership.objects.of_one_person().get(user=cast.vera.user)
    assert browser.post(f"{PAGE}{first.pk}/hand-over", {"member": "x"}).status_code == 422
    assert browser.post(f"{PAGE}{first.pk}/hand-over", {"member": vera.pk})["Location"] == PAGE
    assert Thread.objects.get(pk=first.pk).creator == f"user:{cast.vera.user.pk}"
    assert browser.post(f"{PAGE}{second.pk}/erase", SURE)["Location"] == PAGE
    assert not Thread.objects.filter(pk=second.pk).exists()
    assert browser.post(f"{PAGE}{second.pk}/erase", SURE).status_code == 404
    assert f'href="{PAGE}"' in browser.get("/team/settings/").content.decode()


def test_nobody_else_sees_the_page(cast: Cast, browse: Browse) -> None:
    left(cast, "one")
    Membership.objects.of_one_person().filter(user=cast.bob.user).delete()
    assert browse(cast.vera).get(PAGE).status_code == 403
    assert "No threads were left behind" in browse(cast.charlie).get(PAGE).content.decode()
