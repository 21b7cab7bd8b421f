"""Tool calls and issues of many runs, as far as their reader sees the runs."""
