"""The blocks of the manual that bring a database back, or move it."""
