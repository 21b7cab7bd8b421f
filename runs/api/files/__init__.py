"""The files resource; bytes come and go through ``agui_host/web/consumers/files``."""
