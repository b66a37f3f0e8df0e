"""What a finished run says of itself: ``summary.json``, ``curve.png`` and ``report.md``, made from the files in its folder.

Everything here can be made anew at any time: ``python -m turngym_trainer.report RUN_DIR``.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from turngym.output import whole_file
from turngym_trainer.runs import SUMMARY
from turngym_trainer.schedule import schedule
from turngym_trainer.starter.prepare import EXPERT

BEFORE, AFTER = "evaluation-before.json", "evaluation-after.json"
WALL = "wall.json"
MODEL = "model"
_SMOOTH = 5  # steps in the running mean of the curve
_SUMMED = ("generate", "wait_env", "update")


def read_metrics(run: Path) -> list[dict[str, float]]:
    """The steps' metrics in order; nothing where the run has none yet."""
    file = run / "metrics.jsonl"
    if not file.exists():
        return []
    lines = file.read_bytes().splitlines(keepends=True)
    rows = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [row for row in rows if "rollout/success" in row]


def summarize(run: Path) -> dict[str, Any]:
    """The run's ``summary.json``, from its configuration, evaluations and metrics."""
    config = OmegaConf.load(run / "config.yaml")
    assert isinstance(config, DictConfig)
    before, after = (json.loads((run / name).read_text()) for name in (BEFORE, AFTER))
    steps = read_metrics(run)
    wall = json.loads((run / WALL).read_text()) if (run / WALL).exists() else {}
    horizons = schedule(config.algorithm.rounds_ctrl)
    spent = {name: sum(row.get(f"wall_s/{name}", 0.0) for row in steps) for name in _SUMMED}
    return {
        "task": config.task.name,
        "model": config.run.model,
        "algorithm": config.algorithm.adv_estimator,
        "seed": config.run.seed,
        "steps": int(steps[-1]["step"]) if steps else 0,
        "novice_rate": config.starter.rate,
        EXPERT: before.get(EXPERT),
        "before": before[MODEL],
        "after": after[MODEL],
        "horizon": list(horizons.stages),
        "infra_failures": int(sum(row.get("env/infra_failures", 0) for row in steps)),
        "wait_env_share_of_step": spent["wait_env"]
        / max(sum(row.get("wall_s/step", 0.0) for row in steps), 1e-9),
        "wall_s": {**wall, **spent},
    }


def percent(result: Mapping[str, Any]) -> str:
    """Success with its interval, as people read it."""
    low, high = result["ci95"]
    return f"{100 * result['success']:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def write(run: Path) -> dict[str, Any]:
    """Write the three files and return the summary."""
    made = summarize(run)
    (run / "curve.png").unlink(missing_ok=True)
    draw(run, made)
    (run / "report.md").write_text(_markdown(run, made), encoding="utf-8")
    with whole_file(run / SUMMARY) as file:
        file.write(json.dumps(made, indent=2).encode() + b"\n")
    return made


def _markdown(run: Path, made: Mapping[str, Any]) -> str:
    rows = [("before", made["before"]), ("after", made["after"])]
    if made[EXPERT]:
        rows.append(("taught by the expert alone", made[EXPERT]))
    groups = [key for key in made["after"] if key.startswith("by_")]
    kinds = [(key, kind) for key in groups for kind in made["after"][key]]
    head = "".join(f" {key.removeprefix('by_')} {kind} |" for key, kind in kinds)
    lines = [
        f"# {run.name}: {made['task']}",
        "",
        f"Held-out goals ({made['after']['goals']}), n = {made['after']['n']}, 95 %",
    ]
    lines[-1] += " intervals clustered by goal, percent."
    lines += [
        "",
        f"| | success at temperature {made['after']['temperature']:g} |{head} greedy |",
        "|---" * (3 + len(kinds)) + "|",
    ]
    for label, result in rows:
        parts = "".join(
            f" {percent(result[key][kind])} |" if kind in result.get(key, {}) else " |" for key, kind in kinds
        )
        lines.append(f"| {label} | {percent(result)} |{parts} {percent(result['greedy'])} |")
    lines += ["", "Horizon by stage: " + ", ".join(map(str, made["horizon"])) + " turns."]
    lines += [
        f"Infrastructure failures in training: {made['infra_failures']}.",
        "",
        "| where time went | s |",
        "|---|---|",
    ]
    lines += [f"| {name} | {seconds:.0f} |" for name, seconds in made["wall_s"].items()]
    return "\n".join([*lines, "", "![curve](curve.png)", ""])


def draw(run: Path, made: Mapping[str, Any] | None = None) -> None:
    """Draw ``curve.png``: success and reward by step, the horizon's stages shaded, held-out success at both ends."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    steps = read_metrics(run)
    if not steps:
        return
    x = [row["step"] for row in steps]
    figure, axes = pyplot.subplots(figsize=(8, 4.5), dpi=120)
    _stages(axes, x, [row["rollout/horizon"] for row in steps])
    for key, colour, label in (
        ("rollout/success", "tab:green", "training success"),
        ("rollout/reward", "tab:blue", "reward"),
    ):
        values = [row[key] for row in steps]
        axes.plot(x, values, color=colour, alpha=0.25, linewidth=1)
        style = "-" if key == "rollout/success" else "--"
        axes.plot(x, _running_mean(values), style, color=colour, linewidth=2, label=label)
    if made is not None:
        for place, name in ((x[0] - 1, "before"), (x[-1], "after")):
            result = made[name]
            low, high = result["ci95"]
            error = [[result["success"] - low], [high - result["success"]]]
            named = "held-out success, 95 %" if name == "before" else None
            axes.errorbar(
                [place], [result["success"]], yerr=error, fmt="o", color="black", capsize=4, label=named
            )
        if made[EXPERT]:
            level = made[EXPERT]["success"]
            axes.axhline(level, color="tab:red", linestyle=":", label="taught by the expert alone, held-out")
    axes.set(
        xlabel="training step",
        ylabel="success, reward",
        ylim=(-0.02, 1.02),
        title=f"{run.name}: success and horizon",
    )
    axes.legend(loc="best", fontsize=8, framealpha=0.9)
    figure.tight_layout()
    figure.savefig(run / "curve.png")
    pyplot.close(figure)


def _stages(axes: Any, x: Sequence[float], horizons: Sequence[float]) -> None:
    start = 0
    shades = ("#f3f0e7", "#e3e9f0", "#e5f0e3", "#f0e3ea")
    stage = 0
    for i in range(1, len(x) + 1):
        if i == len(x) or horizons[i] != horizons[start]:
            axes.axvspan(x[start] - 0.5, x[i - 1] + 0.5, color=shades[stage % len(shades)], zorder=0)
            axes.text(x[start] - 0.3, 0.005, f"horizon {horizons[start]:g}", fontsize=8, va="bottom")
            start, stage = i, stage + 1


def _running_mean(values: Sequence[float]) -> list[float]:
    return [sum(values[max(0, i + 1 - _SMOOTH) : i + 1]) / min(i + 1, _SMOOTH) for i in range(len(values))]


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / AFTER).is_file():
        sys.exit("usage: python -m turngym_trainer.report RUN_DIR (of a run that was evaluated)")
    print(json.dumps(write(Path(sys.argv[1])), indent=2))
