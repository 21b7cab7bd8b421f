"""People's accounts: sign-ins and other events in the audit log, and their sessions."""
