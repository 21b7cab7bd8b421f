"""ASGI middleware around every HTTP route: who may read an answer, and how it is compressed."""
