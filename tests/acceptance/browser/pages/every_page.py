"""Every page of the dashboard, by its route, and a team in which each has something to show.

A route that is not a page stands in ``NO_PAGES``; an address to which forms post is in neither:
``posted_from`` marks it (tests/dashboard/account/test_addresses.py).
"""

import json
from typing import Any

from tests.acceptance.host import Host

PAGES = {
    "": "/",
    "docs/": "/docs/",
    "docs/<path:name>": "/docs/howto-inspect.md",
    "usage/": "/usage/",
    "agents/": "/agents/",
    "agents/connect": "/agents/connect",
    "agents/<slug:slug>/": "/agents/writer/",
    "agents/<slug:slug>/change": "/agents/writer/change",
    "issues/": "/issues/",
    "issues/<uuid:issue_id>/": "/issues/{issue}/",
    "tool-calls/": "/tool-calls/",
    "budgets/": "/budgets/",
    "alerts/": "/alerts/",
    "alerts/<uuid:alert_id>/": "/alerts/{alert}/",
    "datasets/": "/datasets/",
    "datasets/<uuid:data_set_id>/": "/datasets/{data_set}/",
    "trials/<uuid:trial_id>/": "/trials/{trial}/",
    "runs/": "/runs/",
    "runs/import": "/runs/import",
    "runs/<uuid:run_id>/": "/runs/{failed}/",
    "runs/<uuid:run_id>/change": "/runs/{failed}/change",
    "runs/<uuid:run_id>/compare": "/runs/{failed}/compare",
    "threads/<uuid:key>/": "/threads/{thread}/",
    "inbox/": "/inbox/",
    "inbox/mail/<str:token>/": "/inbox/mail/{mailed}/",
    "inbox/mentions/": "/inbox/mentions/",
    "shared/<str:token>/": "/shared/{link}/",
    "shared/<str:token>/runs/<uuid:run_id>/": "/shared/{link}/runs/{talk}/",
    "operator/": "/operator/",
    "operator/teams/<slug:slug>/": "/operator/teams/faces/",
    "team/": "/team/",
    "team/members/<int:member_id>/remove": "/team/members/{member}/remove",
    "team/threads/": "/team/threads/",
    "team/sign-in/": "/team/sign-in/",
    "team/settings/": "/team/settings/",
    "team/keys/": "/team/keys/",
    "team/audit/": "/team/audit/",
    "team/webhooks/": "/team/webhooks/",
    "team/webhooks/<uuid:webhook_id>/": "/team/webhooks/{webhook}/",
    "team/schedules/": "/team/schedules/",
    "team/knowledge/": "/team/knowledge/",
    "team/schedules/<uuid:schedule_id>/": "/team/schedules/{schedule}/",
    "team/shared/": "/team/shared/",
    "team/received/": "/team/received/",
    "invitations/<str:token>/": "/invitations/{invitation}/",
    "login/": "/login/",
    "signup/": "/signup/",
    "account/inactive/": "/account/inactive/",
    "account/reauthenticate/": "/account/reauthenticate/",
    "account/email/": "/account/email/",
    "account/verify/": "/account/verify/",
    "account/password/": "/account/password/",
    "account/password/set/": "/account/password/set/",
    "account/password/reset/": "/account/password/reset/",
    "account/password/reset/sent/": "/account/password/reset/sent/",
    "account/password/reset/done/": "/account/password/reset/done/",
    "^account/password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$": (
        "/account/password/reset/1-x/"
    ),
    "account/data/": "/account/data/",
    "unsent/": "/unsent/",
    "account/sessions/": "/account/sessions/",
    "account/mfa/": "/account/mfa/",
    "account/mfa/authenticate/": "/account/mfa/authenticate/",
    "account/mfa/reauthenticate/": "/account/mfa/reauthenticate/",
    "account/mfa/totp/activate/": "/account/mfa/totp/activate/",
    "account/mfa/totp/deactivate/": "/account/mfa/totp/deactivate/",
    "account/mfa/keys/": "/account/mfa/keys/",
    "account/mfa/keys/add/": "/account/mfa/keys/add/",
    "account/mfa/keys/<int:pk>/edit/": "/account/mfa/keys/1/edit/",
    "account/mfa/keys/<int:pk>/remove/": "/account/mfa/keys/1/remove/",
    "account/mfa/keys/reauthenticate/": "/account/mfa/keys/reauthenticate/",
    "account/mfa/codes/": "/account/mfa/codes/",
    "account/mfa/codes/generate/": "/account/mfa/codes/generate/",
    "account/sso/": "/account/sso/",
    "account/sso/signup/": "/account/sso/signup/",
    "account/sso/cancelled/": "/account/sso/cancelled/",
    "account/sso/error/": "/account/sso/error/",
    "account/sso/<slug:provider_id>/login/": "/account/sso/none/login/",
    "account/sso/<slug:provider_id>/callback/": "/account/sso/none/callback/",
    "account/sso/saml/login/": "/account/sso/saml/login/",
}
FOR_STRANGERS = ("/login/", "/signup/", "/account/password/reset/", "/no/such/page", "/shared/x/")
"""Pages that look different, or exist only, for people who have not signed in."""
MORE_STATES = (
    "/runs/{talk}/", "/runs/{live}/", "/runs/{waiting}/", "/threads/{live_thread}/",
)  # fmt: skip
"""Pages of ``PAGES`` that look different while a run is running or waits, and after a success."""
NO_PAGES = {
    "parts of pages": (
        "runs/pulse", "runs/<uuid:run_id>/questions", "threads/<uuid:key>/earlier",
        "threads/<uuid:key>/pulse", "inbox/pulse", "inbox/count",
        "shared/<str:token>/runs/<uuid:run_id>/status",
        "shared/<str:token>/runs/<uuid:run_id>/comments",
        "shared/<str:token>/runs/<uuid:run_id>/outline",
    ),
    "files": (
        "manifest.webmanifest", "service-worker.js", "runs/<uuid:run_id>/input",
        "datasets/<uuid:data_set_id>/export", "account/data/export", "account/mfa/codes/download/",
        "account/mfa/keys/login/", "account/sso/saml/metadata/",
    ),
    "redirects": (
        "runs/<uuid:run_id>/events", "login", "signup", "inbox", "team", "runs", "usage", "agents",
        "issues", "tool-calls", "budgets", "alerts", "datasets", "docs", "runs/<uuid:run_id>",
        "threads/<uuid:key>",
    ),
}  # fmt: skip

SEED = """
import json
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from agui_host.runtimes.models import Agent
from agui_host.teams.access import invitations
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Role, Team
from allauth.account.models import EmailAddress
from runs.access import sharing, start
from runs.access.notices import mail
from runs.access.schedules import manage as schedules
from runs.lifecycle.insight import storing
from runs.models import Alert, DataSet, Interrupt, Issue, Trial, Webhook
from runs.seed import nasty, said, watched
from runs.seed.play import perform

team = Team.objects.create(slug="faces", name="Faces")
owner = User.objects.create_superuser("faces-owner", email="faces@example.com")
EmailAddress.objects.create(user=owner, email=owner.email, verified=True, primary=True)
member = User.objects.create_user("faces-member")
for user, role in ((owner, Role.OWNER), (member, Role.MEMBER)):
    row = Membership.objects.create(team=team, user=user, role=role)
me = Principal("user", owner.username, team, Role.OWNER, owner.pk)
nasty.LONG = 300
now = timezone.now()
runs = {play.thread: perform(team, play, now) for play in nasty.plays()}
said.say(team, list(runs.values())[::2])
watched.watch(team, list(runs.values()))
storing.store(team.pk, [run.pk for run in runs.values()])
webhook = Webhook.objects.create(team=team, url="https://example.com/hook", events=["run.failed"],
                                 secrets="[]", created_by=me.label, creator=me.actor_id)
Agent.objects.for_team(team).filter(slug="writer").update(enabled=True)
schedule = schedules.create(me, {"agent": "writer", "name": "Daily", "cron": "0 9 * * 1-5",
    "input": {"messages": [{"role": "user", "content": "Hello", "id": "1"}]}})
mail.choose(me, mail.EACH)
Agent.objects.create(team=team, slug="scripted", name="Scripted")
def begin(**more):
    props = {"script": [{"text": "It begins."}, {"sleep": 3600}]}
    said = {"messages": [{"role": "user", "content": "Go on.", "id": "1"}], "forwardedProps": props}
    return start.start_from_api(me, {"agent": "scripted", "input": said | more,
                                     "on_busy": "enqueue"}, key=None).run
live = begin()
waiting = begin(threadId=live.thread.thread_id)
questions = list(Interrupt.objects.for_team(team).filter(status="open").order_by("pk")[:1])
[text] = mail.written(team, questions)
_, token = sharing.share(me, runs["talk"].thread, sharing.To(), sharing.Terms())
_, address = invitations.send(team, "guest@example.com", Role.MEMBER, by=me.label)
browser = Client()
browser.force_login(owner)
def one(model):
    return str(model.objects.for_team(team).order_by("pk").first().pk)
print(json.dumps({
    "session": browser.session.session_key, "failed": str(runs["yesterday"].pk),
    "live": str(live.pk), "waiting": str(waiting.pk), "live_thread": str(live.thread_id),
    "talk": str(runs["talk"].pk), "thread": str(runs["talk"].thread_id), "issue": one(Issue),
    "alert": one(Alert), "data_set": one(DataSet), "trial": one(Trial), "member": row.pk,
    "webhook": str(webhook.pk), "schedule": str(schedule.pk), "link": token,
    "mailed": str(text.body).split("/inbox/mail/")[1].split("/")[0],
    "invitation": address.rstrip("/").rpartition("/")[2],
}))
"""


def seeded(host: Host) -> dict[str, Any]:
    """The ids that the addresses take, and the session of the team's owner, who is an operator."""
    return dict(json.loads(host.python(SEED).splitlines()[-1]))
