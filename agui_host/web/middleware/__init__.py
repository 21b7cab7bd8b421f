"""ASGI middleware around every HTTP route: who can read an answer, and how it is compressed."""
