"""The team's overview and its usage: figures, each of which leads to the runs that it counts."""
