"""Agents use the libraries of the large profiles, in both launchers, if those are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import profiles
from sandbox.launchers import docker_images
from tests.integration.sandbox.conftest import ISOLATING, require
from tests.integration.sandbox.nodes import Bench, Player, start_node
from tests.integration.sandbox.test_images import client

MEMORY_MB = 1024
PATIENT_SECONDS = 120.0
"""These imports take seconds of cpu time, on a machine that may be busy."""

COMPILES = """
import os
import numpy as np
import scipy.optimize, scipy.ndimage, scipy.spatial.distance
from numba import njit

@njit(cache=True)
def total(values):
    found = 0.0
    for value in values:
        found += value
    return found

COST = np.array([[4.0, 1.0], [2.0, 3.0]])

def agent(obs):
    rows, columns = scipy.optimize.linear_sum_assignment(COST)
    summed = total(np.arange(5.0))
    kept = [name for at, _, names in os.walk(os.environ["NUMBA_CACHE_DIR"]) for name in names]
    return [summed, COST[rows, columns].sum(), any(name.endswith(".nbc") for name in kept)]
"""
LEARNS = """
import numpy as np, pandas, sklearn.linear_model, sklearn.ensemble, lightgbm, scipy.sparse

def agent(obs):
    table = pandas.DataFrame({"x": np.arange(40.0), "y": np.arange(40) % 2})
    line = sklearn.linear_model.LogisticRegression().fit(table[["x"]], table["y"])
    trees = sklearn.ensemble.RandomForestClassifier(5).fit(table[["x"]], table["y"])
    data = lightgbm.Dataset(table[["x"]], table["y"])
    boosted = lightgbm.train({"objective": "binary", "verbose": -1}, data, 3)
    threads = open("/proc/self/status").read().split("Threads:")[1].split()[0]
    return [len(line.predict(table[["x"]])), len(trees.predict(table[["x"]])),
            len(boosted.predict(table[["x"]])), int(threads)]
"""
RUNS_A_NET = '''
import numpy as np, onnxruntime

def field(number, value):
    """A field of the format that ONNX files have: a number, or bytes with their length."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value

shape = field(1, field(1, 2))
kind = field(1, field(1, 1) + field(2, shape))
graph = (field(1, field(1, b"x") + field(2, b"y") + field(4, b"Neg")) + field(2, b"g")
         + field(11, field(1, b"x") + field(2, kind)) + field(12, field(1, b"y") + field(2, kind)))
model = field(1, 8) + field(7, graph) + field(8, field(2, 13))
with open("net.onnx", "wb") as file:
    file.write(model)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
net = onnxruntime.InferenceSession("net.onnx", options)

def agent(obs):
    return net.run(None, {"x": np.array([1.0, -2.0], dtype=np.float32)})[0].tolist()
'''
WITH_TORCH = COMPILES.replace("import os", "import os, torch", 1)
IMPORTED = """
import os, sys
def agent(obs):
    return sorted({name.partition(".")[0] for name in sys.modules} & {
        "numpy", "scipy", "numba", "pandas", "sklearn", "lightgbm", "onnxruntime", "torch"})
"""


def is_built(launcher: str, name: str) -> bool:
    if launcher == "bubblewrap":
        return (
            profiles.installed_libraries(profiles.get_profile(name), profiles.cache_dir())
            is not None
        )
    with client() as found:
        return docker_images.find_image(found, profiles.get_profile(name)) is not None


@pytest.fixture(scope="module", params=ISOLATING)
def lent(request: pytest.FixtureRequest, short_folder: Callable[[], Path]) -> Iterator[Bench]:
    launcher: str = request.param
    require(launcher)
    built = [name for name in ("science", "torch") if is_built(launcher, name)]
    if not built:
        pytest.skip("neither science nor torch is built here")
    named = [word for name in built for word in ("--profile", name)]
    node = start_node(short_folder(), launcher, "--warm", "0", *named)
    yield Bench(node, launcher, node.run_dir)
    assert node.stop() == 0, node.log.read_text()


def played(lent: Bench, source: str, profile: str) -> object:
    if not is_built(lent.launcher, profile):
        pytest.skip(f"{profile} is not built here")
    with lent.borrow(lent.bundle(source), profile, MEMORY_MB) as loan:
        player = Player(loan)
        assert player.start(seconds=PATIENT_SECONDS) == {"k": "ready"}
        answer = player.act(PATIENT_SECONDS, step=0)
        assert answer["k"] == "reply", answer.get("trace")
        ending = loan.end()
    assert ending.clean
    return answer["action"]


def test_science_caches_compiled_functions(lent: Bench) -> None:
    assert played(lent, COMPILES, "science") == [10.0, 3.0, True]


def test_science_learns_with_one_thread(lent: Bench) -> None:
    assert played(lent, LEARNS, "science") == [40, 40, 40, 1]


def test_science_runs_an_exported_net(lent: Bench) -> None:
    assert played(lent, RUNS_A_NET, "science") == [-1.0, 2.0]


def test_torch_profile_has_scipy_and_numba(lent: Bench) -> None:
    assert played(lent, WITH_TORCH, "torch") == [10.0, 3.0, True]


def test_science_preloads_only_numpy(lent: Bench) -> None:
    assert played(lent, IMPORTED, "science") == ["numpy"]
