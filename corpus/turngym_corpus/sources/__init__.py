"""Readers of the sources, one each: what a source has, as passages and as tables. Used by the builder alone."""
