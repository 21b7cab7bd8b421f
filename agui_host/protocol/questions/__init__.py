"""Questions that agents ask, in the forms of many frameworks, and the answers that these expect.

A question becomes an ``Approval`` (``table.approval_of``): its actions, and how a person's decision
becomes the payload that the framework reads. Every screen and every wire format uses it.
"""
