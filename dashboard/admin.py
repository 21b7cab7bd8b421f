"""Operators sign in like everybody: with throttling, and with their second factor."""

from allauth.account.decorators import secure_admin_login
from allauth.socialaccount.models import SocialApp, SocialToken
from django.contrib import admin

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
# Providers come from settings, and tokens are not kept: these forms would show secrets.
for model in (SocialApp, SocialToken):
    if admin.site.is_registered(model):
        admin.site.unregister(model)
