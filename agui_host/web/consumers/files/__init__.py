"""The bytes of uploaded files, in and out, piece by piece; the rest is in ``runs/api/files``."""
