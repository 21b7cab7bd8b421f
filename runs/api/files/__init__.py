"""The files resource; bytes come and go through ``web/consumers/files``."""
