"""What can go wrong in a client, beside the server's own :class:`~turngym.problems.ProblemError`."""


class ConnectionLost(Exception):
    """The server can't be reached, or the connection broke before an answer came. Whether it acted is unknown."""


class UnexpectedAnswer(Exception):
    """What answers does not speak the protocol: not a TurnGym service, or one of another protocol version."""


class InfrastructureFailure(Exception):
    """An episode can't go on, through no fault of the agent. It has no score: never count it as a reward of 0."""


class EpisodeDrifted(InfrastructureFailure):
    """A session opened again with the same actions shows another observation than the one the agent saw."""
