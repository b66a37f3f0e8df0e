"""``make eval TASK=… MODEL=folder``: success of a model on held-out tasks, over HTTP, sampled by vLLM as in training.

    python -m turngym_trainer.evaluate --task textcraft --model runs/textcraft-1

The model is a Hugging Face folder, or a run's folder, whose last checkpoint and own configuration are then taken. The
episodes are played in a process of its own (:mod:`turngym_trainer.evaluation`).
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from turngym.output import whole_file
from turngym_trainer import services
from turngym_trainer.children import child
from turngym_trainer.config import ConfigError, for_task, prepare_environment, stored, validate
from turngym_trainer.progress import Stage, stage
from turngym_trainer.report import percent
from turngym_trainer.rows import NoSuchTasks
from turngym_trainer.runs import NoCheckpoint, trained
from turngym_trainer.services import ServiceError

_LABEL = "model"


class EvaluationFailed(RuntimeError):
    """The process that evaluates failed. The message says where to read why."""


def measure(config: Path, out: Path, models: Mapping[str, Path], log: Path, shown: Stage) -> None:
    """Let each model play the configuration's evaluation, and write the result.

    :param models: label -> model folder.
    :param log: where the process's own messages go.
    :raises EvaluationFailed: if it fails; nothing is written then.
    """
    command = [sys.executable, "-m", "turngym_trainer.evaluation", str(config), str(out)]
    command += [f"{label}={path}" for label, path in models.items()]
    with log.open("a") as messages, child(command, log=messages, piped=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith('{"label"'):
                facts = json.loads(line)
                done = (list(models).index(facts["label"]) + facts["done"] / facts["total"]) / len(models)
                shown.at(done, f"{facts['label']}: {facts['done']} of {facts['total']} episodes")
        if process.wait():
            raise EvaluationFailed(f"the evaluation failed; {log} says why")


def main(words: Sequence[str]) -> int:
    """The command line; returns the exit code."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        return _run(_arguments(words), console)
    except (ConfigError, EvaluationFailed, NoCheckpoint, NoSuchTasks, ServiceError) as error:
        console.print(f"error: {error}", style="red", markup=False)
    except OSError as error:
        console.print(f"error: {error.filename or 'input/output'}: {error.strerror or error}", markup=False)
    except KeyboardInterrupt:
        return 130
    return 1


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="turngym_trainer.evaluate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", help="environment, such as textcraft (default: what --env-addr serves)")
    parser.add_argument(
        "--env-addr", help="URL of a running service, several with commas; default: start one"
    )
    parser.add_argument("--model", type=Path, required=True, help="model folder, or a run's folder")
    parser.add_argument("--split", choices=["train", "validation", "test"], default="test")
    parser.add_argument("--n", type=int, help="sampled episodes (default: the configuration's)")
    parser.add_argument("--seed", type=int, help="of the sampler (default: the configuration's)")
    parser.add_argument("--out", type=Path, help="file for the JSON; default: the terminal")
    parser.add_argument("overrides", nargs="*", help="any key of the configuration, after --: key=value")
    found = parser.parse_args(words)
    if not found.task and not found.env_addr:
        parser.error("give --task or --env-addr")
    return found


def _run(asked: argparse.Namespace, console: Console) -> int:
    with ExitStack() as held:
        scratch = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="turngym-eval-")))
        address = asked.env_addr or held.enter_context(services.serving(asked.task, scratch))
        config, model = _configured(asked, address)
        prepare_environment(config)
        validate(config)
        (scratch / "config.yaml").write_text(stored(config))
        shown = held.enter_context(stage(f"{config.task.name}: {model}", console))
        result = scratch / "result.json"
        log = Path("evaluate.log").resolve()
        measure(scratch / "config.yaml", result, {_LABEL: model}, log, shown)
        log.unlink()
        made = json.loads(result.read_text())[_LABEL]
    made = {"task": config.task.name, "model": str(model), "split": asked.split, **made}
    text = json.dumps(made, indent=2) + "\n"
    if asked.out is None:
        print(text, end="")
    else:
        with whole_file(asked.out) as file:
            file.write(text.encode())
    console.print(
        f"{made['task']} {model.name}: success {percent(made)}, {made['n']} episodes of {made['goals']} goals; "
        f"greedy {percent(made['greedy'])}; {made['infra_failures']} lost",
        markup=False,
    )
    return 0


def _configured(asked: argparse.Namespace, address: str) -> tuple[DictConfig, Path]:
    """The configuration to play by, and the model's folder."""
    settings: dict[str, Any] = {
        "task.env_addr": address,
        "evaluation.split": asked.split,
        "evaluation.episodes": asked.n,
        "evaluation.seed": asked.seed,
    }
    run = asked.model / "config.yaml"
    if run.is_file():
        model = trained(asked.model)
        loaded = OmegaConf.load(run)
        assert isinstance(loaded, DictConfig)
        for key, value in {**settings, "run.model": str(model)}.items():
            if value is not None:
                OmegaConf.update(loaded, key, value)
        if asked.overrides:
            loaded = OmegaConf.merge(loaded, OmegaConf.from_dotlist(list(asked.overrides)))
        return loaded, model
    metadata = asyncio.run(services.look(address.split(",")[0]))
    task = asked.task or metadata.name
    settings |= {"run.model": str(asked.model), "run.name": task, "run.dir": f"runs/{task}"}
    return for_task(task, metadata, settings, overrides=asked.overrides), asked.model


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
