"""Web Push: messages encrypted for one browser (RFC 8291), and the sender's proof (RFC 8292)."""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)

from agui_host.backends.postgres import clock
from agui_host.protocol.strict_json import dumps

CURVE = ec.SECP256R1()
RECORD = 4_096
"""Bytes of the only record of a message: all that a push service must accept."""
LONGEST = 3_900
"""Bytes of a message, so that it fits into the record with its header and tag."""
POINT, AUTH = 65, 16
"""Bytes of a browser's public key, and of its secret."""
A_DAY = 86_400
LIFETIME = A_DAY // 2
"""Seconds for which a proof is valid; push services accept at most a day."""


class Keys(NamedTuple):
    """The keys that a browser gives its sender: its public key and a secret, in base64url."""

    p256dh: str
    auth: str


def new_private_key() -> str:
    """A key of this sender, as text."""
    key = ec.generate_private_key(CURVE)
    return _text(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))


def public_key(private: str) -> str:
    """The key that browsers subscribe with, as ``applicationServerKey`` takes it."""
    return _text(_point(_loaded(private).public_key()))


def are_valid(keys: Keys) -> bool:
    """Whether messages can be encrypted for a browser with these keys."""
    try:
        point, auth = _bytes(keys.p256dh), _bytes(keys.auth)
        ec.EllipticCurvePublicKey.from_encoded_point(CURVE, point)
    except ValueError:
        return False
    return len(point) == POINT and len(auth) == AUTH


def encrypted(text: bytes, keys: Keys) -> bytes:
    """The body of a push message with the content coding ``aes128gcm``. Raises ValueError."""
    return _sealed(text, keys, ec.generate_private_key(CURVE), os.urandom(16))


def _sealed(text: bytes, keys: Keys, private: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    if len(text) > LONGEST:
        raise ValueError(f"A push message has at most {LONGEST} bytes.")
    receiver, sender = _bytes(keys.p256dh), _point(private.public_key())
    shared = private.exchange(
        ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVE, receiver)
    )
    secret = _derived(
        shared, _bytes(keys.auth), b"WebPush: info\0" + receiver + sender, len(shared)
    )
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD.to_bytes(4, "big") + bytes([len(sender)]) + sender
    # The delimiter of the last record.
    return head + AESGCM(key).encrypt(nonce, text + b"\x02", None)


def proof(private: str, endpoint: str, contact: str) -> str:
    """The ``Authorization`` header for a push service; ``contact`` is a ``mailto:`` or a URL."""
    parts = urlsplit(endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(clock.now().timestamp()) + LIFETIME,
        "sub": contact,
    }
    content = ".".join(
        _text(dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims)
    )
    key = _loaded(private)
    r, s = decode_dss_signature(key.sign(content.encode(), ec.ECDSA(SHA256())))
    token = f"{content}.{_text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
    return f"vapid t={token}, k={_text(_point(key.public_key()))}"


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def _loaded(private: str) -> ec.EllipticCurvePrivateKey:
    key = load_der_private_key(_bytes(private), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("This is no key of Web Push.")
    return key


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _text(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    """Raises ValueError."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
