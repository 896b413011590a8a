"""Makes many folders with long names, hard links, circular links and removed rights."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        try:
            for index in range(200):
                folder = f"/tmp/{index:04d}" + "n" * 240
                os.mkdir(folder)
                open(folder + "/file", "w").close()
                os.link(folder + "/file", folder + "/again")
                os.symlink("/tmp", folder + "/circle")
                os.chmod(folder + "/file", 0)
                os.chmod(folder, 0)
        except OSError as error:
            kit.held(f"a wider tree: {error}")
    return kit.move(obs)
