"""A worker takes runs from their table, many at a time, and executes them."""
