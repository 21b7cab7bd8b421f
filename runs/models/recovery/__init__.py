"""The workers, and what lets a run continue after one is gone: its effects and its attempts."""

from runs.models.recovery.effect import Effect, EffectStatus
from runs.models.recovery.recovery import Reason, Recovery
from runs.models.recovery.worker import Worker

__all__ = ["Effect", "EffectStatus", "Reason", "Recovery", "Worker"]
