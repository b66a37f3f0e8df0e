"""What the tests of this package share: the environment variables of the CPU preset, set before verl is imported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from turngym_trainer.config import compose, prepare_environment

prepare_environment(compose(["run.name=tests", "run.dir=.", "run.model=none"]))
