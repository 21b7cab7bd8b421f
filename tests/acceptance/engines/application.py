"""Make the application as a web process does, and end: tests of settings that it refuses."""

from agui_host.web.application import application

if __name__ == "__main__":
    application()
