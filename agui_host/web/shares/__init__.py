"""Shared by the sockets and streams of a process: turns, and bounds in bytes."""
