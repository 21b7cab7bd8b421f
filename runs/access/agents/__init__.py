"""A team's agents as their page shows them: versions, and the test of a new one."""
