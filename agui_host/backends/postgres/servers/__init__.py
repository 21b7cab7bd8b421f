"""The servers of an address: which of several is the primary, and which pooler is in between."""
