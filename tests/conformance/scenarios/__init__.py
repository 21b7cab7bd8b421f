"""The committed list of scenarios; ``plan`` says what one is."""

from tests.conformance.scenarios import endings, joining, malformed, owners, talk, threads
from tests.conformance.scenarios.plan import Scenario

SCENARIOS: list[Scenario] = [
    *talk.SCENARIOS,
    *owners.SCENARIOS,
    *endings.SCENARIOS,
    *malformed.SCENARIOS,
    *joining.SCENARIOS,
    *threads.SCENARIOS,
]
