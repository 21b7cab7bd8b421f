"""What the sockets and streams of a process share: turns, and bounds in bytes."""
