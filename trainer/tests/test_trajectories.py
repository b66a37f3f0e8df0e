"""What a run keeps of its episodes: readable again, with the response as it was trained on."""

from pathlib import Path

from turngym_trainer import trajectories
from turngym_trainer.trajectories import Trajectory, Turn


def episode(sample: int = 0, error: str | None = None) -> Trajectory:
    found = Trajectory("run", 3, "train", "group", sample, "game/train/1", 7, {"a": 1}, 4, error=error)
    found.turns = [
        Turn(1, "look", [5, 6], [-0.1, -0.2], "seen", [7, 8, 9], 0.5),
        Turn(2, "take", [10], [-0.3]),
    ]
    return found


def test_an_episode_is_read_as_it_was_written(tmp_path: Path) -> None:
    trajectories.append(tmp_path, episode())
    trajectories.append(tmp_path, episode(1))
    first, second = trajectories.read(tmp_path / "train-000003.jsonl")
    assert (first["schema"], first["task_id"], first["sample"], second["sample"]) == (1, "game/train/1", 0, 1)
    assert trajectories.response(first) == ([5, 6, 7, 8, 9, 10], [1, 1, 0, 0, 0, 1])


def test_advantages_are_joined_to_the_sampled_ids_of_the_episodes_that_were_trained_on(
    tmp_path: Path,
) -> None:
    for found in (episode(), episode(1), episode(2, error="lost")):
        trajectories.append(tmp_path, found)
    file = trajectories.path(tmp_path, "train", 3)
    trajectories.join_advantages(file, {("group", 0): [1.0, 2.0, 0, 0, 0, 3.0], ("group", 2): [9.0] * 6})
    trained, other, lost = trajectories.read(file)
    assert [turn["advantages"] for turn in trained["turns"]] == [[1.0, 2.0], [3.0]]
    assert "advantages" not in other["turns"][0] and "advantages" not in lost["turns"][0]
    assert not list(tmp_path.glob("*.new"))
