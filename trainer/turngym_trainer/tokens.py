"""The token ids of one episode: what was sampled is what is trained on, and nothing is tokenised twice.

A dialogue grows by turns. Sampled ids are kept as they came; only text that the model did not write (observations, the
template's own tokens) is tokenised, by verl's continuous-token builder for the model's family. The response mask is 1 on
sampled ids and 0 on everything else. No server and no accelerator are needed, so the whole of it can be tested.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Merged(Protocol):
    """What a builder's merge says: the ids that result, how many are new, and which of them the builder put between."""

    token_ids: list[int]
    appended_token_count: int
    inserted_token_ids: list[int]
    removed_prefix_token_count: int


class Builder(Protocol):
    """The part of verl's ``ContinuousTokenBuilder`` that is used here."""

    def build_initial_tokens(self, messages: list[dict[str, Any]]) -> list[int]: ...

    def merge_context_tokens(
        self, previous: list[dict[str, Any]], updated: list[dict[str, Any]], ids: list[int]
    ) -> Merged: ...

    def align_response_metadata(
        self, merged: Any, mask: list[int], log_probs: list[float] | None
    ) -> tuple[list[int], list[float] | None]: ...


class PromptTooLong(ValueError):
    """The opening messages have more tokens than the run allows."""


@dataclass
class Dialogue:
    """The ids of an episode so far.

    :ivar ids: prompt and response, as the model has read or written them.
    :ivar mask: one entry per response token, 1 where it was sampled.
    :ivar log_probs: the sampler's, one per response token, 0.0 where nothing was sampled.
    :ivar sampled_end: length of the response up to the last sampled token.
    """

    builder: Builder
    end_of_turn: int
    messages: list[dict[str, Any]]
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    prompt_length: int = 0
    sampled_end: int = 0

    @classmethod
    def open(
        cls, builder: Builder, end_of_turn: int, messages: Sequence[dict[str, Any]], max_prompt_length: int
    ) -> "Dialogue":
        """The dialogue before the first turn.

        :param end_of_turn: the id that closes an assistant's turn in the chat template.
        :param max_prompt_length: in tokens.
        :raises PromptTooLong: rather than cut what the agent is asked to do.
        """
        ids = builder.build_initial_tokens(list(messages))
        if len(ids) > max_prompt_length:
            raise PromptTooLong(
                f"the opening messages have {len(ids)} tokens, more than data.max_prompt_length={max_prompt_length}; "
                f"raise it to at least {len(ids)}, or have the environment say less"
            )
        return cls(builder, end_of_turn, list(messages), ids, prompt_length=len(ids))

    @property
    def response_length(self) -> int:
        """Response tokens so far, sampled or not."""
        return len(self.mask)

    def sampled(self, token_ids: Sequence[int], log_probs: Sequence[float] | None) -> None:
        """Append what the model has just written, exactly."""
        self.ids = [*self.ids, *token_ids]
        self.mask += [1] * len(token_ids)
        self.log_probs += list(log_probs) if log_probs is not None else [0.0] * len(token_ids)
        self.sampled_end = len(self.mask)

    def observed(self, action: str, observation: str, *, closed: bool) -> tuple[list[int], int]:
        """Append the observation as the next user message, up to where the model writes again.

        :param action: the text of the turn just sampled.
        :param closed: whether the turn ended in the template's own token; a turn that ended at a stop string did not, and
            is closed here, unmasked, as the template would have it.
        :returns: the ids that were appended, and how many sampled ids the template took back (some families end a turn
            with the token that opens the next message).
        """
        before = len(self.ids)
        if not closed:
            self.ids = [*self.ids, self.end_of_turn]
            self.mask.append(0)
            self.log_probs.append(0.0)
        turn = [{"role": "assistant", "content": action}]
        after = self.messages + turn + [{"role": "user", "content": observation}]
        merged = self.builder.merge_context_tokens(after[:-1], after, self.ids)
        mask, log_probs = self.builder.align_response_metadata(merged, self.mask, self.log_probs)
        assert log_probs is not None
        self.ids, self.mask, self.log_probs, self.messages = merged.token_ids, mask, log_probs, after
        self.sampled_end = min(self.sampled_end, max((i + 1 for i, on in enumerate(mask) if on), default=0))
        taken_back = merged.removed_prefix_token_count
        return self.ids[before - taken_back :], taken_back

    def response(self) -> tuple[list[int], list[int], list[float]]:
        """Ids, mask and log-probabilities of the response, up to the last sampled token: nothing follows it."""
        end = self.sampled_end
        return self.ids[self.prompt_length : self.prompt_length + end], self.mask[:end], self.log_probs[:end]


def shorten(tokenizer: Any, text: str, limit: int) -> str:
    """``text``, cut in the middle and marked where it has more than ``limit`` tokens. Needs a fast tokenizer."""
    spans = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    if len(spans) <= limit:
        return text
    head = limit - limit // 2
    start = spans[head - 1][1]
    end = spans[len(spans) - limit // 2][0] if limit // 2 else len(text)
    return f"{text[:start]}\n[{len(spans) - limit} tokens left out]\n{text[end:]}"
