"""Tool calls and issues over HTTP."""
