"""The starter: a few-million-parameter language model for machines with no GPU and no model hub.

It is a novice by construction. It is taught, by next-token prediction on episodes collected in the environment, to read
and write the game's language and to copy what the prompt says, from players who waste a known share of their turns.
So it starts where a large model starts too: it speaks well and plays badly.
"""
