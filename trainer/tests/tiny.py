"""A tokenizer and a model small enough to be made in a test, of the kinds that the CPU preset trains."""

from pathlib import Path
from typing import Any

SENTENCES = [
    "Crafting commands:\ncraft 4 oak planks using 1 oak log\ncraft 4 stick using 2 planks\n\nGoal: craft stick",
    "get 2 oak log",
    "Got 2 oak log",
    "Crafted 4 oak planks",
    "Could not craft 1 red bed: not enough ingredients",
    "inventory",
    "Inventory: 2 iron ingot",
    "Thought: I need wool\nAction: get 3 wool",
]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> Any:
    """A byte-level BPE over a few sentences of the game, with a ChatML template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(SENTENCES, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=TEMPLATE,
    )


def model(folder: Path) -> Path:
    """A random Qwen3 of 0.2 million parameters, as a Hugging Face folder; it ends a turn after some six tokens."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    words = tokenizer()
    config = Qwen3Config(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=2048,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    made = Qwen3ForCausalLM(config)
    with torch.no_grad():  # a direction that every hidden state has, and that speaks for the end of the turn
        made.model.embed_tokens.weight[:, 0] += 1.0
        made.lm_head.weight[words.eos_token_id] = 0.0
        made.lm_head.weight[words.eos_token_id, 0] = 0.58
    made.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
