"""TurnGym's core: one wire protocol for every environment, the server that speaks it, and the clients that use it.

Depends on no environment. A service implements :class:`turngym.environment.Service`; a client needs only HTTP.
"""

__version__ = "0.1.0"
PROTOCOL_VERSION = "1.0"
