"""Web Push against the example of RFC 8291, and the proof as a push service checks it."""

import json
from base64 import urlsafe_b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from agui_host.security import web_push
from agui_host.security.web_push import Keys

TEXT = b"When I grow up, I want to be a watermelon"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
KEYS = Keys(
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "BTBZMqHH6r4Tts7J_aSIgg",
)
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6T"
    "lzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4"
    "a-fN"
)


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_the_example_of_the_specification() -> None:
    private = ec.derive_private_key(int.from_bytes(decoded(SENDER), "big"), ec.SECP256R1())
    assert web_push._sealed(TEXT, KEYS, private, decoded(SALT)) == decoded(BODY)
    assert web_push.encrypted(TEXT, KEYS) != web_push.encrypted(TEXT, KEYS)
    with pytest.raises(ValueError, match="at most"):
        web_push.encrypted(b"x" * (web_push.LONGEST + 1), KEYS)


def test_the_proof_of_the_sender() -> None:
    private = web_push.new_private_key()
    header = web_push.proof(private, "https://push.example.com:8443/a/b", "mailto:a@example.com")
    token, key = header.removeprefix("vapid t=").split(", k=")
    assert key == web_push.public_key(private)
    content, signature = token.rsplit(".", 1)
    head, claims = (json.loads(decoded(part)) for part in content.split("."))
    assert head == {"typ": "JWT", "alg": "ES256"}
    assert claims["aud"] == "https://push.example.com:8443"
    raw = decoded(signature)
    numbers = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))
    verifier = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(key))
    verifier.verify(encode_dss_signature(*numbers), content.encode(), ec.ECDSA(SHA256()))


@pytest.mark.parametrize(
    "keys",
    [Keys("", ""), Keys(KEYS.p256dh[:-4], KEYS.auth), Keys(KEYS.p256dh, "AAAA"),
     Keys("B" + "A" * 86, KEYS.auth), Keys("\u00e9", KEYS.auth)],
)  # fmt: skip
def test_keys_of_no_browser(keys: Keys) -> None:
    assert web_push.are_valid(KEYS)
    assert not web_push.are_valid(keys)
