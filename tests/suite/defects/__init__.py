"""A hundred planted defects that the tests have to catch: ``make defects``."""
