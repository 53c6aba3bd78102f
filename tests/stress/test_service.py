"""Files of a service: damaged, forged, and saved by many at the same time.

Damages are refused with one line; forgeries, whose checksum fits, load or are refused; no save fails, no reader sees
anything but a whole file, no temporary file stays.
"""

import multiprocessing
import operator
import random
import time
from collections import Counter
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from milpcb import Bandit, never, share_at_most
from milpcb.core import files
from milpcb.errors import InputError
from policies import DecisionTrees
from tests.stress.damages import CHANGES, STRANGE, other_digit, places, put

PATTERNS = np.array([[i >> j & 1 for j in range(2)] for i in range(4)], dtype=float)
TREES = DecisionTrees(2, 1, thresholds=[[0.5]] * 2, feature_names=["young", "member"], action_names=["call", "wait"])


# ------------------------------------------------------------------- bandits to be saved


def bandits(seed: int) -> list[Bandit]:
    """Return bandits of every kind that a file can hold, each with some decisions learnt and some open."""
    texts = DecisionTrees(
        2, 1, thresholds=[[30, 60], []], feature_names=["age", "region"], action_names=["call", "wait"]
    )
    rules = [share_at_most("call", 0.5), never("call", "age <= 20")]
    values = {"region": ["north", "south"], "age": [None]}
    made = [
        (Bandit(TREES, seed=seed, keep_log=True), {"young": 0, "member": 1}),
        (Bandit(TREES, contexts=PATTERNS, rate="adaptive", horizon=500), [1, 0]),
        (Bandit(texts, values=values, constraints=rules, reward_range=(0, 10)), {"age": None, "region": "south"}),
        (Bandit(TREES, "ftpl", epsilon="adaptive", noise_on="columns"), [1, 1]),
    ]
    for bandit, context in made:
        for cost in (0.0, 0.25, 1.0, 0.5):
            bandit.learn(bandit.act(context), cost=cost)
        bandit.act(context)
    return [bandit for bandit, _ in made]


# ------------------------------------------------------------------- damages and forgeries


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return a content with one damage, every other one to a digit."""
    if rng.random() < 0.5:
        return other_digit(content, rng)
    i, j = sorted(rng.sample(range(len(content)), 2))
    ways: list[Callable[[], bytes]] = [
        *(partial(change, content, b"{}", rng) for change in CHANGES.values()),
        lambda: content[:i] + content[j:],
        lambda: content[:j] + content[i:],
        lambda: content[:i] + b" " + content[i:],
        lambda: content + rng.choice([b"\n", b"}", b"[", b"0"]),
        lambda: rng.choice([b"[", b'{"a":']) * 100_000,
    ]
    return rng.choice(ways)()


def forged(content: bytes, rng: random.Random) -> bytes:
    """Return a content with one value replaced, or left out, and a checksum that fits."""
    state = files.unsealed(content) or {}
    path = rng.choice(list(places(state)))
    old = reduce(operator.getitem, path, state)
    news = [*STRANGE, 0, 10**400, "mine:Own", 0.5, "nan", 3]
    if isinstance(old, (int, float)) and not isinstance(old, bool):
        news += [old + 1, -old, old * 2]
    if isinstance(old, dict) and old and rng.random() < 0.3:
        fewer = {key: value for key, value in old.items() if key != rng.choice(list(old))}
        return files.sealed(put(state, path, fewer))
    return files.sealed(put(state, path, rng.choice(news)))


def loaded(path: Path) -> str:
    """Return what becomes of a file: "refused", "loaded", or what went wrong."""
    try:
        repr(Bandit.load(path))
    except InputError as error:
        return "refused" if "\n" not in str(error) and str(path) in str(error) else f"unclear: {error}"
    except Exception as error:  # noqa: BLE001 - whatever comes is what is counted
        return f"raised {type(error).__name__}: {error}"
    return "loaded"


def try_files(change: Callable[[bytes, random.Random], bytes], count: int, seed: int, folder: Path) -> Counter[str]:
    """Return how often each thing became of saved files that were changed."""
    rng, path = random.Random(seed), folder / "bandit.json"  # noqa: S311 - not to hide anything
    found = Counter[str]()
    contents = []
    for bandit in bandits(seed):
        bandit.save(path)
        contents.append(path.read_bytes())
    for number in range(count):
        content = contents[number % len(contents)]
        changed = change(content, rng)
        path.write_bytes(changed)
        found["as it was" if changed == content else loaded(path)] += 1
    return found


# ------------------------------------------------------------------- saving at the same time


def save_on(path: str, n_threads: int, seconds: float, least: int, results: Any) -> None:
    """Save from several threads for some seconds, and each at least so many times."""
    found: list[str] = []
    until = time.monotonic() + seconds
    bandit = Bandit(TREES)

    def one() -> None:
        count = 0
        while count < least or time.monotonic() < until:
            try:
                bandit.learn(bandit.act([count % 2, 1]), cost=0.5)
                bandit.save(path)
                found.append("saved")
            except Exception as error:  # noqa: BLE001 - whatever comes is what is counted
                found.append(f"save raised {type(error).__name__}: {error}")
            count += 1

    threads = [Thread(target=one) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(Counter(found))


def try_saving(
    folder: Path, seconds: float, *, n_processes: int = 4, n_threads: int = 4, least: int = 1
) -> Counter[str]:
    """Return how often each thing became of saves and reads at the same time; the processes have one path."""
    path = folder / "shared.json"
    Bandit(TREES).save(path)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=save_on, args=(str(path), n_threads, seconds, least, results))
        for _ in range(n_processes)
    ]
    for worker in workers:
        worker.start()
    found = Counter[str]()
    while any(worker.is_alive() for worker in workers):
        found["read" if (happened := loaded(path)) == "loaded" else f"reader: {happened}"] += 1
        while not results.empty():
            found += results.get()
    while not results.empty():
        found += results.get()
    if died := sum(worker.exitcode != 0 for worker in workers):
        found["processes that died"] = died
    if left := [file.name for file in folder.iterdir() if file.suffix == ".tmp"]:
        found[f"left behind: {left}"] += 1
    return found


@pytest.mark.cases(60)
@pytest.mark.parametrize(("change", "allowed"), [(damaged, {"refused"}), (forged, {"refused", "loaded"})])
def test_changed_files_are_refused_in_one_line(
    change: Callable[[bytes, random.Random], bytes], allowed: set[str], runs: int, tmp_path: Path
) -> None:
    """Damages always; forgeries, whose checksum fits, may load, as what they say."""
    found = try_files(change, runs, 0, tmp_path)
    assert found["refused"] > runs // 3
    assert set(found) <= allowed | {"as it was"}


@pytest.mark.cases(4)
def test_saves_at_the_same_time_are_all_whole(runs: int, tmp_path: Path) -> None:
    """From threads of several processes, with readers in between; nothing is left behind."""
    found = try_saving(tmp_path, 0.0, n_processes=2, n_threads=3, least=runs)
    assert set(found) == {"saved", "read"}
    assert found["saved"] == 2 * 3 * runs
