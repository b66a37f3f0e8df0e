"""The command ``turngym``: serve, play, check, collect, eval, new. Each command reads its options and calls a module.

What goes wrong is one line on stderr and an exit status other than 0: 1 for a failure, 2 for wrong usage, 130 for Ctrl-C.
"""

import asyncio
import inspect
import json
import os
import sys
from contextlib import AsyncExitStack, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, NoReturn, get_args, get_origin

import orjson
import typer
from pydantic import SecretStr, ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turngym import __version__
from turngym import play as playing
from turngym.client.errors import ConnectionLost, InfrastructureFailure, UnexpectedAnswer
from turngym.client.sync import Client
from turngym.collect import CannotCollect, Plan, episodes, parse_mix
from turngym.environment import NotSupported, Service
from turngym.output import partial_of, whole_file
from turngym.problems import ProblemError
from turngym.registry import UnknownService, load_service
from turngym.scaffold import CannotScaffold, scaffold
from turngym.server.episode import settled
from turngym.server.settings import PREFIX, Settings, SettingsError, load_settings

# What only one command needs and takes long to import is imported there: aiohttp, FastAPI, the checks.
if TYPE_CHECKING:
    from turngym.evaluate import Tally, Trial
    from turngym.schema import Metadata

CONTACT_S = 5.0  # how long a command waits for a service to answer at all

app = typer.Typer(
    help="Environments as services for multi-turn reinforcement learning.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
aside = Console(stderr=True)


class SplitName(StrEnum):
    """The splits, as a choice."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class LocalPolicyName(StrEnum):
    """The players inside a service's own process, as a choice."""

    EXPERT = "expert"
    NOVICE = "novice"
    RANDOM = "random"
    NULL = "null"


class PolicyName(StrEnum):
    """The players over HTTP, as a choice."""

    EXPERT = "expert"
    RANDOM = "random"
    NULL = "null"
    OPENAI = "openai"


Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="option of the sessions; repeatable"),
]
MaxTurns = Annotated[int | None, typer.Option(min=1, help="the horizon; default: the environment's")]
Seed = Annotated[int, typer.Option(min=0, help="the same seed plays the same episodes")]
Token = Annotated[
    str | None, typer.Option(envvar="TURNGYM_TOKEN", help="bearer token, if the server wants one")
]
Count = Annotated[int, typer.Option(min=1, help="number of episodes")]


class Failed(Exception):
    """A command can't do what it was asked to. The message is one line."""


FAILURES = (
    CannotCollect,
    CannotScaffold,
    ConnectionLost,
    Failed,
    InfrastructureFailure,
    NotSupported,
    ProblemError,
    SettingsError,
    UnexpectedAnswer,
    UnknownService,
)


def main() -> NoReturn:
    """Run the command line; never returns."""
    try:
        app()
    except FAILURES as error:
        _say(str(error))
    except OSError as error:
        _say(f"{error.filename or 'input/output'}: {error.strerror or error}")
    raise SystemExit(1)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="print the version", is_eager=True)] = False,
) -> None:
    if version:
        console.print(__version__)
        raise typer.Exit


# -- serve -------------------------------------------------------------------------------------------------------------


def serve(name: str, **settings: Any) -> None:
    """Serve an installed environment in the foreground.

    Settings come from the options, else from variables TURNGYM_PORT and so on, else from the service, else as shown.

    \b
    Examples:
      turngym serve textcraft
      turngym serve textcraft --port 8010 --max-sessions 256 --experts
      TURNGYM_JOURNAL=off turngym serve textcraft
    """
    from turngym.server.app import serve as serve_service

    # A service's own package reads the environment alone.
    given = {field: value for field, value in settings.items() if value is not None}
    os.environ.update({f"{PREFIX}{field.upper()}": str(value) for field, value in given.items()})
    service = load_service(name)

    def listening(address: str) -> None:
        order = '{"split": "train", "index": 0}'
        print(f"{service.spec.name} at {address}   try: curl -s {address}/sessions -d '{order}'", flush=True)

    serve_service(service, load_settings(service.defaults, **settings), ready=listening)


def _with_settings(command: Any) -> Any:
    """``command`` with an option for each field of Settings in place of its ``**settings``."""
    name = inspect.Parameter(
        "name",
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        annotation=Annotated[str, typer.Argument(help="an installed service, such as textcraft")],
    )
    parameters = [name]
    for field_name, field in Settings.model_fields.items():
        shown = (
            ""
            if field.is_required() or field.default is None or field.default_factory
            else f" [{field.default}]"
        )
        option = typer.Option(
            help=f"{field.description or field_name.replace('_', ' ')}{shown}", show_default=False
        )
        parameters.append(
            inspect.Parameter(
                field_name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[_plain(field.annotation) | None, option],
            )
        )
    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _plain(annotation: Any) -> Any:
    """The type of a setting as the command line reads it; the settings check its value."""
    options = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) is Literal or annotation is Path or SecretStr in (annotation, *options):
        return str
    if options:
        return options[0]
    return annotation


app.command("serve")(_with_settings(serve))


# -- play --------------------------------------------------------------------------------------------------------------


@app.command()
def play(
    where: Annotated[
        str, typer.Argument(metavar="URL|NAME", help="a running service, or one that is installed")
    ],
    task: Annotated[str | None, typer.Option(help="id of the task; default: the split's first")] = None,
    split: SplitName = SplitName.TRAIN,
    seed: Seed = 0,
    max_turns: MaxTurns = None,
    option: Options = None,
    token: Token = None,
) -> None:
    """Play an episode yourself.

    \b
    Examples:
      turngym play textcraft
      turngym play http://127.0.0.1:8003 --task textcraft/test/17
    """
    options = _options(option)
    if not _is_url(where):
        service = load_service(where)
        try:
            chosen = playing.task_of(service, task, split.value)
            playing.play(playing.LocalGame(service, chosen, seed, options, max_turns), console)
        except ValueError as error:
            raise Failed(_one_line(error)) from None
        return
    selector: dict[str, Any] = {"task_id": task} if task else {"split": split.value, "index": 0}
    with _client(where, token) as client:
        metadata = client.metadata()
        more = {"seed": seed, "max_turns": max_turns, "options": options}
        playing.play(playing.RemoteGame(client, metadata, selector | more), console)


# -- check -------------------------------------------------------------------------------------------------------------


@app.command()
def check(
    url: Annotated[str, typer.Argument(help="address of a running service")],
    token: Token = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="run this check alone; repeatable")
    ] = None,
) -> None:
    """Test whether a service keeps the protocol: one check a rule. Exit status 1 if one fails.

    \b
    Examples:
      turngym check http://127.0.0.1:8003
      turngym check http://127.0.0.1:8003 --only step-repeat
    """
    from turngym.check import run_checks

    _client(url, token).shut()
    try:
        report = run_checks(url, token=token, only=only, console=aside)
    except ValueError as error:
        raise Failed(_one_line(error)) from None
    console.print(report.table())
    console.print(report.verdict())
    raise typer.Exit(0 if report.passed else 1)


# -- collect -----------------------------------------------------------------------------------------------------------


@app.command()
def collect(
    name: Annotated[str, typer.Argument(help="an installed service, such as textcraft")],
    out: Annotated[Path, typer.Option(help="the file to write: a JSON object a line")],
    policy: Annotated[LocalPolicyName, typer.Option(help="who plays")] = LocalPolicyName.EXPERT,
    mix: Annotated[
        str | None, typer.Option(metavar="NAME:SHARE,…", help="several policies; each episode draws one")
    ] = None,
    rate: Annotated[float, typer.Option(min=0, max=1, help="how often the novice's action is useless")] = 0.6,
    n: Count = 100,
    split: SplitName = SplitName.TRAIN,
    seed: Seed = 0,
    shuffle: Annotated[bool, typer.Option(help="take the tasks in an order drawn by the seed")] = False,
    max_turns: MaxTurns = None,
    option: Options = None,
) -> None:
    """Play episodes with the service's own players, in this process, and write their chats as JSON lines.

    The same arguments give the same bytes. Ctrl-C keeps the complete episodes as FILE.partial.

    \b
    Examples:
      turngym collect textcraft --policy expert --n 2000 --out expert.jsonl
      turngym collect textcraft --policy novice --rate 0.6 --n 10000 --option distractors=2 --out novice.jsonl
      turngym collect textcraft --mix expert:0.5,novice:0.5 --n 10000 --shuffle --seed 1 --out mixed.jsonl
    """
    shares = parse_mix(mix) if mix is not None else [(policy.value, 1.0)]
    plan = Plan(shares, split.value, n, seed, rate, max_turns, _options(option), shuffle)
    service = load_service(name)
    try:
        with whole_file(out) as file:
            asyncio.run(_collect(service, plan, file))
    except KeyboardInterrupt:
        _say(
            f"interrupted; what is complete is in {partial_of(out)}"
            if partial_of(out).exists()
            else "interrupted"
        )
        raise typer.Exit(130) from None
    console.print(f"{n} episodes in {out}", highlight=False, soft_wrap=True)


async def _collect(service: Service, plan: Plan, file: IO[bytes]) -> None:
    try:
        await settled(service.load(lambda what, part: None))
        with _progress() as progress:
            bar = progress.add_task("episodes", total=plan.n)
            async for line in episodes(service, plan):
                file.write(line)
                progress.advance(bar)
    finally:
        await settled(service.close())


# -- eval --------------------------------------------------------------------------------------------------------------


@app.command("eval")
def eval_(
    url: Annotated[str, typer.Argument(help="address of a running service; several replicas with commas")],
    policy: Annotated[PolicyName, typer.Option(help="who plays")] = PolicyName.EXPERT,
    model: Annotated[str | None, typer.Option(help="the model's name, for --policy openai")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="the model's endpoint, with /v1; default: OPENAI_BASE_URL")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, help="of the model")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="most tokens the model writes in a turn")] = 512,
    split: SplitName = SplitName.TEST,
    n: Count = 200,
    seed: Seed = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="episodes at a time")] = 32,
    max_turns: MaxTurns = None,
    option: Options = None,
    out: Annotated[Path | None, typer.Option(help="file for the JSON; default: the terminal")] = None,
    token: Token = None,
) -> None:
    """Play tasks over HTTP and report success with its 95 % interval (clustered by task), score, turns, stop reasons.

    Episodes lost to the infrastructure are counted apart. Ctrl-C reports the episodes that are complete (FILE.partial).

    \b
    Examples:
      turngym eval http://127.0.0.1:8003 --policy expert --split test --n 200      (serve it with --experts)
      turngym eval http://127.0.0.1:8003 --policy openai --model Qwen/Qwen2.5-7B-Instruct --base-url http://gpu:8000/v1
      turngym eval http://a:8003,http://b:8003 --policy random --n 1000 --out random.json
    """
    from turngym.evaluate import Tally, Trial

    if policy is PolicyName.OPENAI and model is None:
        raise Failed("--policy openai needs --model")
    trial = Trial(split.value, n, seed, concurrency, max_turns, _options(option))
    tally = Tally()
    urls = [part.strip() for part in url.split(",") if part.strip()]
    for one in urls[1:]:
        _client(one, token).shut()
    model_arguments = {"temperature": temperature, "max_tokens": max_tokens, "base_url": base_url}
    status, shown = 0, policy.value if model is None else f"{policy.value}:{model}"
    with _client(urls[0], token) as client:
        metadata = client.metadata()
    try:
        asyncio.run(_evaluate(urls, token, metadata, policy, model, model_arguments, trial, tally))
    except KeyboardInterrupt:
        status = 130
        if not tally.results:
            raise typer.Exit(130) from None
    except ValueError as error:
        raise Failed(_one_line(error)) from None
    report = tally.report(metadata, shown, trial)
    text = orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if out is None:
        print(text.decode(), end="")
    else:
        with whole_file(out if status == 0 else partial_of(out)) as file:
            file.write(text)
    low, high = report["ci95"]
    aside.print(
        f"{report['task']} {report['policy']}: success {report['success']:.1%} [{low:.1%}, {high:.1%}], "
        f"{report['n']} episodes of {report['tasks']} tasks, {report['infra_failures']} lost",
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(status)


async def _evaluate(
    urls: list[str],
    token: str | None,
    metadata: "Metadata",
    policy: PolicyName,
    model: str | None,
    model_arguments: dict[str, Any],
    trial: "Trial",
    tally: "Tally",
) -> None:
    from turngym.client.aio import AsyncClient
    from turngym.client.policies import ExpertPolicy, NullPolicy, OpenAIPolicy, Policy, RandomPolicy
    from turngym.evaluate import evaluate

    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(AsyncClient(one, token=token, patience_s=60)) for one in urls
        ]
        players: dict[PolicyName, Policy] = {
            PolicyName.EXPERT: ExpertPolicy(),
            PolicyName.RANDOM: RandomPolicy(trial.seed),
            PolicyName.NULL: NullPolicy(),
        }
        if model is not None and policy is PolicyName.OPENAI:
            llm = OpenAIPolicy(model, stop=metadata.grammar.stop, seed=trial.seed, **model_arguments)
            players[policy] = await stack.enter_async_context(llm)
        progress = stack.enter_context(_progress())
        bar = progress.add_task("episodes", total=trial.n)
        await evaluate(clients, metadata, players[policy], trial, tally, lambda tally: progress.advance(bar))


# -- new ---------------------------------------------------------------------------------------------------------------


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="name of the service: lower-case letters, digits and _")],
    directory: Annotated[
        Path | None, typer.Option("--dir", help="where to make it; default: services/NAME")
    ] = None,
) -> None:
    """Make the package of a new environment: a small game that works, is tested, and can be trained on.

    \b
    Examples:
      turngym new maze
      turngym new maze --dir ../maze
    """
    folder = directory or Path("services") / name
    scaffold(name, folder)
    console.print(
        f"{folder} is ready. Next:\n  pip install -e {folder}\n  turngym serve {name}\n  pytest {folder}",
        highlight=False,
        soft_wrap=True,
    )


# -- shared ------------------------------------------------------------------------------------------------------------


def _say(line: str) -> None:
    print(f"turngym: {line}", file=sys.stderr)


def _is_url(text: str) -> bool:
    return "://" in text or ":" in text or "." in text


def _client(url: str, token: str | None) -> Client:
    """A client of a service that answers and has loaded. Raises Failed."""
    try:
        client = Client(url, token=token, patience_s=CONTACT_S)
    except ValueError as error:
        raise Failed(str(error)) from None
    try:
        if not client.ready().ready:
            with aside.status(f"{client.base_url} is loading"):
                client.wait_ready()
    except BaseException:
        client.shut()
        raise
    client.patience_s = 60.0
    return client


def _options(given: list[str] | None) -> dict[str, Any]:
    """``NAME=VALUE`` options; a value is JSON where it reads as such, else text. Raises Failed."""
    options: dict[str, Any] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Failed(f"--option {text!r} is not NAME=VALUE")
        options[name] = value
        with suppress(json.JSONDecodeError):
            options[name] = json.loads(value)
    return options


def _one_line(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return " ".join(str(error).split())


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal)


if __name__ == "__main__":
    main()
