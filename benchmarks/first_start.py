"""Measures a first start: time to the printed address, and to three matches of each demo agent.

    python -m benchmarks first_start [--keep-environment]

It copies the committed files to a new folder and runs `./peck up` there. So the environment, the
databases and the boxes' libraries are all new. Wheels come from pip's cache or index: run it twice
to measure without downloads. ``--keep-environment`` uses the environment of this checkout, to
measure the rest alone. The output shows each line of `peck up` with its second and the machine's
load, because both times grow with the load.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from services.api_client import Client
from services.run.demo import LEAGUES

CHECKOUT = Path(__file__).resolve().parents[1]
MATCHES = 3
MOST_SECONDS = 900.0


def copy_checkout(folder: Path) -> None:
    """Copy the files of this checkout's HEAD to another folder."""
    packed = subprocess.run(
        ["git", "archive", "HEAD"], cwd=CHECKOUT, check=True, stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "x", "-C", str(folder)], input=packed.stdout, check=True)


def count_rated_matches(address: str, token: str) -> dict[str, int]:
    """The number of rated matches of each demo agent on a board."""
    site = Client(address, token)
    return {
        f"{league.slug}/{row['agent_name']}": int(row["games"])
        for league in LEAGUES
        for row in site.list_items(f"/v1/seasons/{league.slug}/leaderboard")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep-environment", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="peck-first-", dir="/var/tmp"))
    folder.chmod(0o755)
    copy_checkout(folder)
    if options.keep_environment:
        (folder / ".venv").symlink_to(Path(sys.prefix))
        command = [sys.executable, "-P", "-m", "services.cli"]
    else:
        command = ["./peck"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PECK_")}
    began = time.monotonic()
    process = subprocess.Popen(
        [*command, "up", "--port", "0"],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        threading.Thread(target=echo_output, args=(process, began), daemon=True).start()
        watch(process, began)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def print_timed(began: float, line: str) -> None:
    """Print a line with its time and the load."""
    print(f"{time.monotonic() - began:7.1f} s  load {os.getloadavg()[0]:4.1f}  {line}", flush=True)


def echo_output(process: subprocess.Popen[str], began: float) -> None:
    """Print every line that the process writes."""
    assert process.stderr is not None
    for line in process.stderr:
        print_timed(began, line.rstrip())


def watch(process: subprocess.Popen[str], began: float) -> None:
    """Follow a `peck up` until all demo agents have played."""
    assert process.stdout is not None
    address = token = ""
    for line in process.stdout:
        address = line.split()[-1] if "is up:" in line else address
        token = line.strip() if line.strip().startswith("peck_") else token
        if "Ctrl-C" in line:
            break
    print_timed(began, f"the address is printed: {address}")
    wanted = sum(len(league.entrants) for league in LEAGUES)
    told = 0
    while time.monotonic() - began < MOST_SECONDS:
        counts = count_rated_matches(address, token)
        done = sum(count >= MATCHES for count in counts.values())
        if done > told:
            told = done
            least = min(counts, key=lambda name: counts[name])
            print_timed(
                began,
                f"{len(counts)} of {wanted} on a board, {done} with {MATCHES} matches;"
                f" least: {least}",
            )
        if done == wanted:
            print_timed(began, f"every demo agent had {MATCHES} matches")
            return
        time.sleep(0.5)
    print_timed(began, "gave up waiting")


if __name__ == "__main__":
    main()
