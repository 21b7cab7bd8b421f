"""The libraries of the extra: they work together, and only where SAML is configured."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dashboard.saml.idp import IdentityProvider
from tests.house.repository import ROOT

TOGETHER = """
import xmlsec, lxml.etree
assert xmlsec.get_libxml_version() == lxml.etree.LIBXML_VERSION
"""
LOADED = """
import sys, django
django.setup()
import agui_project.urls
from django.conf import settings
loaded = {name.partition(".")[0] for name in sys.modules} & {"xmlsec", "lxml", "onelogin"}
print(settings.SAML, *loaded)
"""


def run(code: str, **settings: str) -> str:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "agui_project.settings"} | settings
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_lxml_and_xmlsec_contain_the_same_libxml2() -> None:
    run(TOGETHER)


@pytest.mark.slow
def test_a_start_loads_none_of_them(tmp_path: Path) -> None:
    file = tmp_path / "metadata.xml"
    provider = IdentityProvider()
    file.write_text(provider.metadata())
    provider.server.server_close()
    assert run(LOADED) == "False"
    assert run(LOADED, AGUI_SAML_METADATA_FILE=str(file)) == "True"
