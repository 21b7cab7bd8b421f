"""The one place for connections to PostgreSQL: addresses, TLS, deadlines, threads.

Django loads ``base`` as its database engine. Everything connects through it or with its parameters:
requests, the journal's writer, the watchdog, Procrastinate and its LISTEN, management commands.
"""
