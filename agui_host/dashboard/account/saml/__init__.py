"""Sign-in by SAML 2.0, of which this host is a service provider.

Only ``service`` and ``responses`` load the libraries of the extra, and the first sign-in imports
them: a host without SAML starts without them.
"""
