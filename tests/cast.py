"""The cast as fixtures: Alice, Bob and Vera in one team, Charlie in another; agents that work."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncio
import pytest
from channels.layers import channel_layers
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from agui_project.bridge import db
from events import journal
from events.hub import hub
from events.writer import JournalWriter
from runs import inputs, lifecycle
from runs.executor import Stop, execute
from runs.models import Run
from runtimes import registry
from runtimes.models import Agent
from teams import keys
from teams.models import ApiKey, Membership, Role, Team
