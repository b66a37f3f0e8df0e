"""Passages, questions and passage vectors that ship with TurnGym."""
