"""An exhaustive explorer of the start that is handed to a worker (docs/adr/0020).

``python -m tests.runs.worker.handover`` prints how many states there are, and what each planted
defect leads to.
"""
