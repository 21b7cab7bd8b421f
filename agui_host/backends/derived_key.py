"""Keys for encryption, derived from the host's secrets."""

from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


@lru_cache(32)
def fernet(secret: str, purpose: bytes) -> Fernet:
    """A key from any text of enough entropy; what one ``purpose`` encrypts, no other can read."""
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose)
    return Fernet(urlsafe_b64encode(kdf.derive(secret.encode())))
