"""One script per promise; dated results in ``results/``. Run: ``make bench``."""
