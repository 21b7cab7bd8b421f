"""The only way to append to journals: a writer for all runs of a process, a lease for each."""

from events.writer.writer import FollowUp, JournalWriter

__all__ = ["FollowUp", "JournalWriter"]
