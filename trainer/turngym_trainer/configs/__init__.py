"""The Hydra configuration of a run."""
