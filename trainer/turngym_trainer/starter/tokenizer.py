"""A small tokenizer made from episodes: whole phrases between the words of the action grammar are single tokens.

"craft 4 oak planks using 1 oak log" becomes ``craft| |4| oak planks| using| |1| oak log`` or shorter: an item's name is one
token, so a small model copies it in one step. Any other text is still encoded without loss, byte by byte where it must be.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)  # ChatML
MIN_FREQUENCY = 4
MAX_NUMBER = 64


def literal_words(templates: Iterable[str]) -> list[str]:
    """The fixed words of command templates: ``craft {count} {item} using {parts}`` gives craft and using."""
    text = " ".join(re.sub(r"\{[^}]*\}", " ", template) for template in templates)
    return sorted(set(re.findall(r"[a-z]+", text.lower())))


def pattern(words: Sequence[str]) -> str:
    """The regular expression that cuts text into pieces: numbers, grammar words, lower-case phrases between them, other
    words, line ends, single characters."""
    fixed = "|".join(map(re.escape, words)) or r"\b\B"
    word = rf"(?!(?:{fixed})\b)[a-z][a-z'-]*"
    return rf" ?\d+| ?(?:{fixed})\b| ?{word}(?: {word})*| ?[A-Z][A-Za-z]*|\n| ?[^\sA-Za-z\d]|\s|."


def build(texts: Iterable[str], templates: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer whose vocabulary is every piece that occurs at least four times in ``texts``, the numbers to 64, and the
    256 bytes.

    :param texts: message contents.
    :param templates: the action grammar's command templates.
    """
    cut = pattern(literal_words(templates))
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(re.findall(cut, text))
    pieces = {piece for piece, count in counts.items() if count >= MIN_FREQUENCY}
    pieces |= {f" {number}" for number in range(MAX_NUMBER + 1)} | {"user", "assistant", "system", "\n"}
    bytes_ = [f"<0x{number:02X}>" for number in range(256)]
    # One piece always beats its parts, and a known character beats its bytes.
    vocabulary = (
        [("<unk>", 0.0)] + [(name, -100.0) for name in bytes_] + [(piece, -1.0) for piece in sorted(pieces)]
    )
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(cut), "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=END_OF_TEXT,
        additional_special_tokens=[START],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
