"""Profiles of Hypothesis: ``ci`` for each whole run, ``dev`` for a quick verdict.

``--hypothesis-profile dev`` chooses; a test with a number of examples of its own keeps it.
"""

import hypothesis

DEV, CI = "dev", "ci"
EXAMPLES = 20


def install() -> None:
    """Register both, and load the thorough one; an option loads its profile after this."""
    current = hypothesis.settings.get_profile(hypothesis.settings.get_current_profile_name())
    # An example that takes long on a busy machine is no counterexample.
    thorough = hypothesis.settings(current, deadline=None)
    hypothesis.settings.register_profile(CI, thorough)
    hypothesis.settings.register_profile(DEV, thorough, max_examples=EXAMPLES)
    hypothesis.settings.load_profile(CI)
