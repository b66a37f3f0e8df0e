"""Shows that the tasks can be solved: the expert plays every level it claims, with both sets of actions.

    make prove TASK=babyai                              # 10 seeds a level, minutes
    make prove TASK=babyai ARGS="--seeds 3 --levels GoTo,BossLevel"

Prints each layout that isn't solved, the share over all, and the excluded levels with their reason. Ends with status 1 where
the share is below 98 % in a set.
"""

import argparse
import sys
from collections import defaultdict
from multiprocessing import get_context

from turngym.schema import StopReason
from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.expert import EXCLUDED
from turngym_babyai.levels import levels

SETS = ("high-level", "primitive")
BAR = 0.98
_TURNS = 1_000
Trial = tuple[str, str, int]


def solves(trial: Trial) -> tuple[Trial, bool, int]:
    """Whether the expert solves (set, level, seed), and the turns that it took."""
    actions, level, seed = trial
    env = BabyAI(level, seed, BabyAIOptions.model_validate({"actions": actions, "listing": False}))
    try:
        for turn in range(1, _TURNS + 1):
            stop = env.step(env.expert()).stop
            if stop is not None:
                return trial, stop is StopReason.SUCCESS, turn
        return trial, False, _TURNS
    finally:
        env.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="layouts a level (default 10)")
    parser.add_argument("--levels", help="names, separated by commas (default: all that are claimed)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    options = parser.parse_args()
    names = options.levels.split(",") if options.levels else [n for n in levels() if n not in EXCLUDED]
    trials = [(actions, name, seed) for seed in range(options.seeds) for name in names for actions in SETS]
    won: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    turns: defaultdict[str, list[int]] = defaultdict(list)
    with get_context("spawn").Pool(options.workers) as pool:
        for done, ((actions, name, seed), good, took) in enumerate(pool.imap_unordered(solves, trials, 8), 1):
            won[actions, name].append(good)
            if good:
                turns[actions].append(took)
            else:
                print(f"\rnot solved: {name}, seed {seed}, {actions}", flush=True)
            print(f"\r{done} of {len(trials)} episodes", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    good = True
    for actions in SETS:
        all_won = [each for (kind, _), each_won in won.items() if kind == actions for each in each_won]
        share = sum(all_won) / len(all_won)
        good &= share >= BAR
        mean = sum(turns[actions]) / max(1, len(turns[actions]))
        print(f"{actions:11} {share:7.2%} of {len(all_won)} episodes, {len(names)} levels, {mean:.1f} turns")
    for name, reason in EXCLUDED.items():
        print(f"not claimed: {name}: {reason}")
    if not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
