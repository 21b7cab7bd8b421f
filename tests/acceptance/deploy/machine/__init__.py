"""A machine for one test: other files on top of this one's, its own processes and systemctl."""
