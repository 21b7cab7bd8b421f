"""Clients of one process share certificates, unless they or the environment name others."""

import ssl
from pathlib import Path

import httpx
import pytest

from tests.suite import certificates


def context_of(client: httpx.Client) -> object:
    return client._transport._pool._ssl_context  # type: ignore[attr-defined]


def test_clients_share_the_machines_certificates() -> None:
    with httpx.Client() as one, httpx.Client() as other:
        assert context_of(one) is context_of(other)
        assert isinstance(context_of(one), ssl.SSLContext)


def test_named_certificates_are_kept() -> None:
    own = ssl.create_default_context()
    with httpx.Client(verify=own) as named, httpx.Client(verify=False) as trusting:  # noqa: S501
        assert context_of(named) is own
        assert context_of(trusting) is not certificates.context()


def test_those_of_the_environment_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = certificates.context()
    copy = tmp_path / "some.pem"
    (one, *_) = before.get_ca_certs(binary_form=True)
    copy.write_text(ssl.DER_cert_to_PEM_cert(one))
    monkeypatch.setenv("SSL_CERT_FILE", str(copy))
    assert certificates.context() is not before
    assert certificates.context(trust_env=False) is not certificates.context()
