"""Evaluation: labels on runs, data sets of runs, and trials that run a data set again."""

from runs.models.evaluation.data_set import DataSet, DataSetRun, Trial, TrialRun
from runs.models.evaluation.label import RunLabel
from runs.models.evaluation.terms import AgentTerms

__all__ = ["AgentTerms", "DataSet", "DataSetRun", "RunLabel", "Trial", "TrialRun"]
