"""The levels: every BabyAI level that minigrid registers, and a fresh game of one of them.

A game is minigrid's own environment, unwrapped. Nothing of a level's rules is written anew here.
"""

import contextlib
import io
import os
from functools import cache
from hashlib import sha256
from typing import Any

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # minigrid imports pygame, which greets on stdout

import gymnasium
import minigrid
from gymnasium.envs.registration import load_env_creator
from minigrid.core.world_object import Wall
from minigrid.envs.babyai.core import verifier

# minigrid reads this from the environment: with it, a mission would count only once the agent says that it is done.
verifier.use_done_actions = False

VERSION: str = minigrid.__version__

# The levels by which published results number their items: level = item % 40, seed = item // 40 (AgentGym, Xi et al. 2024).
PUBLISHED = (
    "GoToRedBallGrey", "GoToRedBall", "GoToRedBallNoDists", "GoToObjS6", "GoToLocalS8N7", "GoToObjMazeS7",
    "GoToImpUnlock", "GoToSeqS5R2", "GoToRedBlueBall", "GoToDoor", "GoToObjDoor", "Open", "OpenRedDoor",
    "OpenDoorLoc", "OpenRedBlueDoorsDebug", "OpenDoorsOrderN4Debug", "Pickup", "UnblockPickup", "PickupLoc",
    "PickupDistDebug", "PickupAbove", "PutNextLocalS6N4", "PutNextS7N4Carrying", "Unlock", "UnlockLocalDist",
    "KeyInBox", "UnlockPickupDist", "BlockedUnlockPickup", "UnlockToUnlock", "ActionObjDoor", "FindObjS7",
    "KeyCorridorS6R3", "OneRoomS20", "MoveTwoAcrossS8N9", "SynthS5R2", "SynthLoc", "SynthSeq", "MiniBossLevel",
    "BossLevel", "BossLevelNoUnlock",
)  # fmt: skip


@cache
def _registered() -> dict[str, str]:
    """Gymnasium's id of each level by our name for it: ``BabyAI-GoToObjS6-v1`` goes by ``GoToObjS6``."""
    return {
        spec_id.removeprefix("BabyAI-").rpartition("-v")[0]: spec_id
        for spec_id in gymnasium.registry
        if spec_id.startswith("BabyAI-")
    }


@cache
def levels() -> tuple[str, ...]:
    """The names of all levels in the order in which minigrid registers them: by kind, and within it easy ones first."""
    return tuple(_registered())


@cache
def _creator(level: str) -> tuple[Any, dict[str, Any]]:
    spec = gymnasium.spec(_registered()[level])
    assert spec.entry_point is not None
    entry = spec.entry_point
    return (load_env_creator(entry) if isinstance(entry, str) else entry), dict(spec.kwargs)


_WALL = Wall()


def new_game(level: str, seed: int) -> Any:
    """A fresh game (a ``minigrid`` ``RoomGridLevel``), the same for the same level and seed.

    Its walls are one shared object: they have no state, and a thousand objects a game fewer are a garbage collection that
    nobody notices. It makes no observations of its own: :mod:`turngym_babyai.view` does.
    """
    creator, kwargs = _creator(level)
    game = creator(**kwargs)
    game.gen_obs = _no_observation
    with contextlib.redirect_stdout(io.StringIO()):  # minigrid prints each layout that it rejects
        game.reset(seed=seed)
    game.grid.grid = [_WALL if cell is not None and cell.type == "wall" else cell for cell in game.grid.grid]
    return game


def _no_observation() -> None:
    return None


def fingerprint(game: Any) -> str:
    """A hash of what a fresh game holds: grid, contents of boxes, what is carried, the agent's place, the mission."""
    content = [
        game.grid.encode().tolist(),
        [(thing.contains.type, thing.contains.color) for thing in game.grid.grid if thing and thing.contains],
        game.carrying and (game.carrying.type, game.carrying.color),
        tuple(int(part) for part in game.agent_pos),
        int(game.agent_dir),
        game.mission,
    ]
    return sha256(repr(content).encode()).hexdigest()[:16]


def dispose(game: Any) -> None:
    """Cut the game's cycles, so that it is freed at once and not by a garbage collection that stalls other sessions."""
    for row in game.room_grid:
        for room in row:
            room.neighbors = []
    game.__dict__.clear()
