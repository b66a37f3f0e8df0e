"""What every test of this repository relies on, whichever package it is of."""

import os
import signal

from hypothesis import settings

# A shell ignores Ctrl-C for what it runs in the background, and children inherit that; the tests send it to theirs.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A gate asks the same questions of the same code; at a developer's desk each run asks new ones.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
