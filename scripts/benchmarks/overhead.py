"""Time of a study beside its learners: speed-up of two processes, milliseconds per tiny cell, memory of a long cell.

    python scripts/benchmarks/overhead.py

Figures depend on the machine and on what else runs there; the speed-up is of two runs one after the other.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from milpcb.core.decimals import spaced

LONG, CELLS, TINY = 1_000_000, 200, 10_000  # rounds of one cell, cells of 2 000 rounds, cells of two
STUDY = """\
[experiment]
name = "overhead"
horizon = {horizon}
seeds = [{seeds}]
checkpoints = 5
[environment]
name = "planted"
n_contexts = {contexts}
n_features = 12
[policies]
name = "decision_trees"
depth = {depth}
[oracle]
kind = "search"
"""
BISTRO = '[[learners]]\nname = "bistro_plus"\nqueries = "profile"\n'
UNIFORM = '[[learners]]\nname = "uniform"\n'


def study(horizon: int, n_seeds: int, learners: str, contexts: int = 200, depth: int = 2) -> str:
    seeds = ", ".join(map(str, range(n_seeds)))
    return STUDY.format(horizon=horizon, seeds=seeds, contexts=contexts, depth=depth) + learners


def run(folder: Path, name: str, text: str, *options: str) -> float:
    """Run a study to its end; return the seconds it took."""
    (folder / f"{name}.toml").write_text(text)
    start = time.perf_counter()
    arguments = ["run", f"{name}.toml", "--out", name, "--progress", "quiet", *options]
    subprocess.run([sys.executable, "-m", "milpcb.cli", *arguments], cwd=folder, check=True)
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "warm", study(100, 1, BISTRO))  # compiles what is compiled once

        seconds = run(folder, "long", study(LONG, 1, BISTRO), "--backend", "serial")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"a cell of T = {spaced(LONG)}, comparator and pictures: {seconds:.0f} s, peak memory {peak:.0f} MB")

        text = study(2000, CELLS, BISTRO)
        serial = run(folder, "serial", text, "--backend", "serial")
        two = run(folder, "processes", text, "--backend", "processes", "--workers", "2")
        print(
            f"{CELLS} cells of 2000 rounds: serial {serial:.1f} s, two processes {two:.1f} s: "
            f"{serial / two:.2f} times as fast as one"
        )

        tiny = study(2, TINY // 10, LEARNERS, contexts=8, depth=1)  # ten learners share a world and its comparator
        start = run(folder, "one", study(2, 1, LEARNERS, contexts=8, depth=1), "--backend", "serial")
        seconds = run(folder, "tiny", tiny, "--backend", "serial")
        again = run(folder, "tiny", tiny, "--backend", "serial")
        each = 1e3 * (seconds - start) / (TINY - 10)
        print(
            f"{TINY} cells of 2 rounds, ten a seed: {seconds:.1f} s, of which 10 cells take {start:.1f} s: "
            f"{each:.2f} ms a cell"
        )
        print(f"the same again, all finished: {again:.1f} s")


LEARNERS = UNIFORM + "".join(
    f'[[learners]]\nname = "bistro_plus"\nlabel = "scale {scale}"\nqueries = "profile"\nscale = {scale}\n'
    for scale in range(10, 19)
)


if __name__ == "__main__":
    main()
