"""What lets a run continue after its worker is gone: its effects, and how often it was taken up."""

from runs.models.recovery.effect import Effect, EffectStatus
from runs.models.recovery.recovery import Reason, Recovery

__all__ = ["Effect", "EffectStatus", "Reason", "Recovery"]
