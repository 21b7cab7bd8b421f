"""This host beside durable peers and beside the floor, in one run: ``make bench-durable``."""
