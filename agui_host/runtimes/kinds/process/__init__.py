"""The ``process`` kind: agents that are command lines. ``runtime.py`` is where to start reading."""
