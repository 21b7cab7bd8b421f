"""Sealed logs: logs that ended long ago, as compressed objects of the file store (ADR 0012).

A log is in rows or in an object, and readers cannot tell: ``reading`` is the only module that they
need. ``sealing`` writes an object, ``sweeping`` deletes it or writes it again without erased logs.
"""
