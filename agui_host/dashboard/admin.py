"""Operators sign in like everyone: with throttling, and with their second factor."""

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin

from agui_host.teams.admin import OfPerson

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
# Providers come from settings, and tokens are not stored: these forms would show secrets.
for model in (SocialApp, SocialToken):
    if admin.site.is_registered(model):
        admin.site.unregister(model)
# allauth's own pages, whose changes appear in the logs of the person's teams.
for model in (EmailAddress, Authenticator, UserSession, SocialAccount):
    page = type(admin.site.get_model_admin(model))
    admin.site.unregister(model)
    admin.site.register(model, type(page.__name__, (OfPerson, page), {}))
