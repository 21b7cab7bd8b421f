"""Messages to runs whose workers are killed, and to runs that end at the same moment."""
