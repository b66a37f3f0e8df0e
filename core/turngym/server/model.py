"""A language model's next turn, asked for by the server so that the endpoint's key stays there; for people who watch.

The chat is made from the session's transcript as the trainer and ``turngym eval`` make it: the opening messages, then each
turn's action and observation. Playing the turn is the caller's business.
"""

from collections.abc import Sequence

from turngym.client.errors import InfrastructureFailure
from turngym.client.policies import OpenAIPolicy, exchange
from turngym.problems import ProblemError
from turngym.schema import Message, Transcript
from turngym.server.settings import Settings

_ANSWER_S = 60.0  # the longest that one answer may take
_PATIENCE_S = 10.0  # how long an endpoint in trouble is asked again: somebody waits in front of a page


def chat(transcript: Transcript) -> list[Message]:
    """The chat of an episode so far; its last message is the latest observation."""
    messages = list(transcript.messages)
    for turn in transcript.turns:
        messages += exchange(turn.action, turn.observation.text)
    return messages


async def next_turn(transcript: Transcript, settings: Settings, stop: Sequence[str]) -> str:
    """What the model writes after the transcript.

    :param stop: the strings at which the model is to stop: the action grammar's.
    :raises ProblemError: ``session_finished`` if the episode is over, ``model_failure`` if the endpoint gives no answer.
    """
    assert settings.model is not None
    if transcript.stop_reason is not None:
        detail = f"the episode is over: {transcript.stop_reason}"
        raise ProblemError("session_finished", detail, session_id=transcript.session_id)
    key = settings.model_key.get_secret_value() if settings.model_key is not None else None
    policy = OpenAIPolicy(
        settings.model,
        settings.model_url,
        key,
        stop=stop,
        timeout_s=_ANSWER_S,
        patience_s=_PATIENCE_S,
    )
    try:
        async with policy:
            return await policy.answer(chat(transcript))
    except InfrastructureFailure as error:
        raise ProblemError("model_failure", str(error), session_id=transcript.session_id) from error
