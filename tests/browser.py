"""A browser for pages: its answers to a script, and the number of pages that it prints."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (  # it asks nobody, and waits for nobody
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--virtual-time-budget=3000"),
)


def needed() -> None:
    """Skip the test where no browser is installed."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed (apt install chromium)")


def ask(folder: Path, text: str, *options: str, script: str = "", address: str = "") -> str:
    """Return what chromium answers about a page in a file of a folder; the test is skipped where there is none."""
    needed()
    file = folder / "page & more.html"
    file.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", *options, file.as_uri() + address]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def pages_of_print(folder: Path, text: str) -> int:
    """Return how many pages a page is in print."""
    ask(folder, text, f"--print-to-pdf={folder / 'print.pdf'}")
    return len(re.findall(rb"/Type /Page\b", (folder / "print.pdf").read_bytes()))
