"""A service that is killed, copied and restarted: damaged files, saves at the same time, and decisions learnt late.

Damages: bytes of saved bandits, digits above all, are flipped, cut and repeated. Each must be refused with one line.
Forgeries: values anywhere in the file are replaced and the checksum is made to fit; each must load or be refused with
one line. Saving: 4 processes of 4 threads each save bandits of their own to one path while readers load it; no save may
fail, no reader see anything but a whole file, no temporary file stay. Schedules: random orders of act, save, crash,
load, copy and late learning, by id, by decision, by its JSON and by forged ones, beside a plain ledger of what was
decided: each cost is credited to its own decision, or refused; sums are recomputed from the ledger by the definition of
the certificate.
"""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from milpcb import Bandit, Decision, never, open_oracle, share_at_most
from milpcb.core import files
from milpcb.errors import InputError, MilpcbError
from policies import DecisionTrees

PATTERNS = np.array([[i >> j & 1 for j in range(2)] for i in range(4)], dtype=float)
TREES = DecisionTrees(2, 1, thresholds=[[0.5]] * 2, feature_names=["young", "member"], action_names=["call", "wait"])
LABELINGS = open_oracle(TREES, PATTERNS, kind="enumeration").labelings  # (N, 4)


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
    """Return a content with one damage."""
    i, j = sorted(rng.sample(range(len(content)), 2))
    digits = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    place = rng.choice(digits)
    digit = str((int(chr(content[place])) + rng.randint(1, 9)) % 10).encode()
    ways: list[Callable[[], bytes]] = [
        lambda: content[:place] + digit + content[place + 1 :],
        lambda: content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :],
        lambda: content[:i],
        lambda: content[:i] + content[j:],
        lambda: content[:j] + content[i:],
        lambda: content[:i] + b" " + content[i:],
        lambda: content + rng.choice([b"\n", b"}", b"[", b"0"]),
        lambda: rng.choice([b"[", b'{"a":']) * 100_000,
    ]
    return rng.choices(ways, weights=[8, 4, 2, 2, 2, 1, 1, 0.2])[0]()


def forged(content: bytes, rng: random.Random) -> bytes:
    """Return a content with one value replaced, and a checksum that fits."""
    state = files.unsealed(content) or {}
    places: list[tuple[Any, Any]] = []
    walk(state, places)
    inside, key = rng.choice(places)
    old = inside[key]
    news = [None, -1, 0, 1e300, 10**400, "x", "mine:Own", "../x", [], {}, [[]], True, 0.5, "nan", 3]
    if isinstance(old, (int, float)) and not isinstance(old, bool):
        news += [old + 1, -old, old * 2]
    if isinstance(old, dict) and old and rng.random() < 0.3:
        del old[rng.choice(list(old))]
    else:
        inside[key] = rng.choice(news)
    return files.sealed(state)


def walk(value: Any, places: list[tuple[Any, Any]]) -> None:
    """Add every place of a value inside of nested lists and tables."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        places.append((value, key))
        walk(value[key], places)


def loaded(path: Path, content: bytes) -> str:
    """Return what becomes of a file: "refused", "loaded", or what went wrong."""
    path.write_bytes(content)
    try:
        bandit = Bandit.load(path)
        repr(bandit)
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
        found["as it was" if changed == content else loaded(path, changed)] += 1
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

    run_all([Thread(target=one) for _ in range(n_threads)])
    results.put(Counter(found))


def run_all(workers: list[Any]) -> None:
    """Start all and wait for them."""
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


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
        found["read" if (happened := loaded_as_is(path)) == "loaded" else f"reader: {happened}"] += 1
        while not results.empty():
            found += results.get()
    while not results.empty():
        found += results.get()
    if died := sum(worker.exitcode != 0 for worker in workers):
        found["processes that died"] = died
    if left := [file.name for file in folder.iterdir() if file.suffix == ".tmp"]:
        found[f"left behind: {left}"] += 1
    return found


def loaded_as_is(path: Path) -> str:
    """Return "loaded" where a file is whole, else what is wrong."""
    try:
        Bandit.load(path)
    except Exception as error:  # noqa: BLE001 - whatever comes is what is counted
        return f"{type(error).__name__}: {error}"
    return "loaded"


# ------------------------------------------------------------------- schedules


@dataclass
class History:
    """Plain ledger of one bandit: which decisions are open, and what those learnt cost."""

    open: set[str] = field(default_factory=set)
    learnt: dict[str, float] = field(default_factory=dict)

    def copied(self) -> History:
        """Return a copy."""
        return History(set(self.open), dict(self.learnt))


class Schedule:
    """One random schedule; ``run`` returns what went wrong, "" where nothing did."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - not to hide anything
        self.path = folder / "schedule.json"
        self.in_order = seed % 10 == 9
        learner = "epsilon_greedy" if self.in_order else "uniform" if seed % 10 == 8 else "exp4"
        self.bandit = Bandit(TREES, learner, seed=seed, keep_log=True)
        self.made: dict[str, tuple[Decision, list[int]]] = {}  # of every history
        self.now = History()
        self.bandit.save(self.path)
        self.saved = self.now.copied()
        self.counts: Counter[str] = Counter()
        self.wrong = ""

    def run(self, steps: int) -> str:
        """Take so many steps; return what went wrong first."""
        for _ in range(steps):
            step = self.rng.choices(
                (self.act, self.learn, self.save, self.crash, self.copy, self.forge), weights=(6, 7, 1, 1, 0.3, 1)
            )[0]
            step()
            if self.wrong:
                return self.wrong
        self.compare()
        return self.wrong

    def act(self) -> None:
        """Ask for a decision."""
        context = [self.rng.randrange(2), self.rng.randrange(2)]
        try:
            decision = self.bandit.act(context)
        except InputError:
            if not (self.in_order and self.now.open):
                raise
            self.counts["act refused"] += 1
            return
        if decision.id in self.made:
            self.wrong = f"the id {decision.id} was given twice"
        self.made[decision.id] = decision, context
        self.now.open.add(decision.id)
        self.counts["acted"] += 1

    def learn(self) -> None:
        """Hand in the cost of a decision of any history, in one of three ways."""
        if not self.made:
            return
        decision, _ = self.made[self.rng.choice(list(self.made)[-30:])]
        way = self.rng.randrange(3)
        given = (decision.id, decision, Decision.from_json(decision.to_json()))[way]
        known = decision.id in self.now.open
        lost = not known and decision.id not in self.now.learnt
        self.hand_in(given, decision.id, right=known or (lost and way > 0 and not self.in_order))
        self.counts["learnt after a crash" if lost and decision.id in self.now.learnt else "other"] += 1

    def forge(self) -> None:
        """Hand in a decision with something changed."""
        if not self.made:
            return
        decision, _ = self.made[self.rng.choice(list(self.made))]
        other = self.rng.choice(list(self.made))
        changes: list[dict[str, Any]] = [
            {"action": "wait" if decision.action == "call" else "call"},
            {"probability": decision.probability / 2},
            {"probabilities": (*decision.probabilities[::-1], 0.0)},
            {"context": (*decision.context[:1], 7.0)},
            {"seal": "0" * 64},
            {"id": other if other != decision.id else f"{other}0"},
        ]
        self.hand_in(replace(decision, **self.rng.choice(changes)), "", right=False)

    def hand_in(self, given: Any, name: str, *, right: bool) -> None:
        """Learn a cost of its own; note whether it is taken as it should be."""
        cost = self.rng.randrange(1, 10**6) / 10**6
        try:
            self.bandit.learn(given, cost=cost)
        except MilpcbError as error:
            self.counts["refused"] += 1
            if right or "\n" in str(error):
                self.wrong = f"refused: {error}"
            return
        self.counts["credited"] += 1
        if not right:
            self.wrong = f"{given} was taken"
        self.now.open.discard(name)
        self.now.learnt[name] = cost

    def save(self) -> None:
        """Save, and keep what the ledger knows."""
        self.bandit.save(self.path)
        self.saved = self.now.copied()

    def crash(self) -> None:
        """Go on from the file."""
        self.compare()
        self.bandit, self.now = Bandit.load(self.path), self.saved.copied()
        self.counts["crashes"] += 1

    def copy(self) -> None:
        """Go on with a copy."""
        pickled = pickle.dumps(self.bandit)
        self.bandit = copy.deepcopy(self.bandit) if self.rng.random() < 0.5 else pickle.loads(pickled)  # noqa: S301 - ours

    def compare(self) -> None:
        """Compare the certificate, and the log where there is one, with what the ledger holds."""
        totals, paid = np.zeros((4, 2)), 0.0
        for name, cost in self.now.learnt.items():
            decision, (young, member) = self.made[name]
            totals[young + 2 * member, TREES.action_names.index(decision.action)] += cost / decision.probability
            paid += cost
        best = totals[np.arange(4), LABELINGS].sum(axis=1).min()
        if abs(self.bandit.certificate() - (paid - best)) > 1e-9 * max(1.0, paid):
            self.wrong = f"certificate {self.bandit.certificate()}, by the ledger {paid - best}"
        if {self.made[name][0].action for name in self.now.learnt} == {"call", "wait"}:
            self.compare_log()

    def compare_log(self) -> None:
        """Compare each line of the log with the decision that its cost was handed in for."""
        log, owner = self.bandit.log(), {cost: name for name, cost in self.now.learnt.items()}
        rows = log.features.rows()
        for features, action, cost, law in zip(rows, log.action, log.outcome, log.propensity, strict=True):
            decision, context = self.made[owner.pop(float(cost))]
            if (list(features), log.actions[action], tuple(law)) != (context, decision.action, decision.probabilities):
                self.wrong = f"cost {cost} was credited to another decision"
        if owner:
            self.wrong = f"{len(owner)} costs are not in the log"


def try_schedules(count: int, seed: int, folder: Path, steps: int = 80) -> tuple[list[str], Counter[str]]:
    """Return what went wrong in so many schedules, and how often what happened."""
    wrong, counts = [], Counter[str]()
    for number in range(count):
        schedule = Schedule(seed + number, folder)
        if problem := schedule.run(steps):
            wrong.append(f"schedule {seed + number}: {problem}")
        counts += schedule.counts
    return wrong, counts


@pytest.mark.cases(120)
@pytest.mark.parametrize(("change", "allowed"), [(damaged, {"refused"}), (forged, {"refused", "loaded"})])
def test_changed_files_are_refused_in_one_line(
    change: Callable[[bytes, random.Random], bytes], allowed: set[str], runs: int, tmp_path: Path
) -> None:
    """Damages always; forgeries, whose checksum fits, may load, as what they say."""
    found = try_files(change, runs, 0, tmp_path)
    assert found["refused"] > runs // 3
    assert set(found) <= allowed | {"as it was"}


@pytest.mark.cases(8)
def test_saves_at_the_same_time_are_all_whole(runs: int, tmp_path: Path) -> None:
    """From threads of several processes, with readers in between; nothing is left behind."""
    found = try_saving(tmp_path, 0.0, n_processes=2, n_threads=3, least=runs)
    assert set(found) == {"saved", "read"}
    assert found["saved"] == 2 * 3 * runs


@pytest.mark.cases(20)
def test_random_schedules_credit_each_cost_to_its_own_decision(numbers: range, tmp_path: Path) -> None:
    """Or it is refused."""
    wrong, counts = try_schedules(len(numbers), numbers.start, tmp_path, steps=60)
    assert wrong == []
    assert min(counts["crashes"], counts["learnt after a crash"], counts["refused"], counts["credited"]) > len(numbers)
