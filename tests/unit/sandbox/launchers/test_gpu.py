"""GPUs as CDI files and engines report them.

The files follow the specification; none comes from a real GPU.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from docker.types import DeviceRequest

from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.launchers import base, gpu
from sandbox.launchers.gpu import Gpu

LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"
ELSEWHERE = "/usr/local/nvidia/lib64/libcuda.so.1"
FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/local/nvidia/lib64")


def mount(path: str) -> dict[str, Any]:
    return {"hostPath": path, "containerPath": path, "options": ["ro", "nosuid", "nodev", "bind"]}


def device(name: str, *nodes: str) -> dict[str, Any]:
    return {"name": name, "containerEdits": {"deviceNodes": [{"path": node} for node in nodes]}}


def spec(*devices: dict[str, Any], kind: str = "nvidia.com/gpu") -> dict[str, Any]:
    """A CDI document as nvidia-ctk writes it."""
    return {
        "cdiVersion": "0.5.0",
        "kind": kind,
        "devices": list(devices),
        "containerEdits": {
            "deviceNodes": [{"path": "/dev/nvidiactl"}, {"path": "/dev/nvidia-uvm"}],
            "hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook"}],
            "mounts": [
                mount(LIBRARY),
                mount(ELSEWHERE),
                mount("/usr/bin/nvidia-smi"),
                mount("/run/nvidia-persistenced/socket"),
                mount("/lib/firmware/nvidia/580.65.06/gsp_ga10x.bin"),
            ],
        },
    }


def write(folder: Path, document: dict[str, Any], name: str = "nvidia.json") -> tuple[Path, ...]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(document))
    return (folder,)


TWO = spec(
    device("0", "/dev/nvidia0"),
    device("1", "/dev/nvidia1"),
    device("GPU-11111111-2222-3333-4444-555555555555", "/dev/nvidia0"),
    device("GPU-66666666-7777-8888-9999-000000000000", "/dev/nvidia1"),
    device("all", "/dev/nvidia0", "/dev/nvidia1"),
)


def test_each_gpu_is_found_once(tmp_path: Path) -> None:
    found = gpu.find_gpus(write(tmp_path, TWO))
    assert [one.name for one in found] == ["nvidia.com/gpu=0", "nvidia.com/gpu=1"]


def test_a_mig_slice_is_a_separate_device(tmp_path: Path) -> None:
    caps = "/dev/nvidia-caps/nvidia-cap"
    slices = spec(
        device("0:0", "/dev/nvidia0", f"{caps}12", f"{caps}13"),
        device("0:1", "/dev/nvidia0", f"{caps}21", f"{caps}22"),
        device("MIG-aaaa", "/dev/nvidia0", f"{caps}12", f"{caps}13"),
        device("all", "/dev/nvidia0", *(f"{caps}{number}" for number in (12, 13, 21, 22))),
    )
    found = gpu.find_gpus(write(tmp_path, slices))
    assert [one.name for one in found] == ["nvidia.com/gpu=0:0", "nvidia.com/gpu=0:1"]
    assert "--dev-bind /dev/nvidia0 /dev/nvidia0" in " ".join(found[1].bubblewrap_options())
    assert f"{caps}21" in found[1].bubblewrap_options()
    assert f"{caps}12" not in found[1].bubblewrap_options()


def test_bubblewrap_binds_gpu_nodes_and_driver_libraries(
    tmp_path: Path,
) -> None:
    first, second = gpu.find_gpus(write(tmp_path, TWO))
    options = second.bubblewrap_options()
    bound = [options[at + 1] for at, option in enumerate(options) if option == "--dev-bind"]
    assert bound == ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1"]
    read_only = [options[at + 1] for at, option in enumerate(options) if option == "--ro-bind"]
    assert read_only == [LIBRARY, ELSEWHERE], "programs, sockets, firmware stay outside"
    assert first.library_folders() == FOLDERS


def test_bubblewrap_links_each_library_under_every_load_name(tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.580.65.06"
    library.touch()
    (tmp_path / "libcuda.so.1").symlink_to(library.name)
    (tmp_path / "libcuda.so").symlink_to("libcuda.so.1")
    (tmp_path / "libcuda.so.9").symlink_to("libother.so.9")
    one = Gpu("nvidia.com/gpu=0", (), ((str(library), f"/usr/lib64/{library.name}"),))
    options = one.bubblewrap_options()
    links = [options[at + 1 : at + 3] for at, word in enumerate(options) if word == "--symlink"]
    assert links == [
        [library.name, "/usr/lib64/libcuda.so"],
        [library.name, "/usr/lib64/libcuda.so.1"],
    ]


def test_a_gpu_box_finds_the_driver(tmp_path: Path) -> None:
    one, _ = gpu.find_gpus(write(tmp_path, TWO))
    box = base.BoxSpec("box", profiles.get_profile("torch-gpu"), 4096, 0, gpu=one)
    setup = base.supervisor_setup(box, "uids")
    assert setup["environment"]["LD_LIBRARY_PATH"] == ":".join(FOLDERS)
    assert setup["limits"]["NOFILE"] > base.LIMITS["NOFILE"]
    assert "torch" in setup["imports"]


def test_a_device_node_may_have_another_host_path(tmp_path: Path) -> None:
    moved = {"path": "/dev/nvidia0", "hostPath": "/dev/gpus/first"}
    document = spec({"name": "0", "containerEdits": {"deviceNodes": [moved]}})
    (one,) = gpu.find_gpus(write(tmp_path, document))
    assert ("/dev/gpus/first", "/dev/nvidia0") in one.nodes


def test_a_later_cdi_folder_overrides_an_earlier_folder(tmp_path: Path) -> None:
    write(tmp_path / "etc", spec(device("0", "/dev/nvidia0")))
    renamed = spec(device("first", "/dev/nvidia0"))
    write(tmp_path / "run", renamed)
    (one,) = gpu.find_gpus((tmp_path / "etc", tmp_path / "run"))
    assert one.name == "nvidia.com/gpu=first"


def test_cdi_files_of_other_devices_are_ignored(tmp_path: Path) -> None:
    assert gpu.find_gpus(write(tmp_path, spec(device("0", "/dev/x"), kind="vendor.com/nic"))) == ()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"kind": "nvidia.com/gpu"}'])
def test_an_unreadable_cdi_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "broken.json").write_text(content)
    with pytest.raises(HostFault, match=r"broken\.json"):
        gpu.find_gpus((tmp_path,))


def test_a_yaml_cdi_file_is_reported_with_the_command_to_type(tmp_path: Path) -> None:
    dev = tmp_path / "dev"
    dev.mkdir()
    assert gpu.gpu_lacks((tmp_path,), dev) == (), "no GPU, nothing to tell"
    (dev / "nvidia0").touch()
    (sentence,) = gpu.gpu_lacks((tmp_path,), dev)
    assert "no CDI file" in sentence
    (tmp_path / "nvidia.yaml").write_text("cdiVersion: 0.5.0\n")
    (sentence,) = gpu.gpu_lacks((tmp_path,), dev)
    assert "YAML" in sentence
    assert "nvidia-ctk cdi generate --format=json" in sentence
    write(tmp_path, TWO)
    assert gpu.gpu_lacks((tmp_path,), dev) == ()


def test_an_engine_with_cdi_gets_the_device_name(tmp_path: Path) -> None:
    info = {"CDISpecDirs": ["/etc/cdi"], "Runtimes": {"runc": {}, "nvidia": {}}}
    one, _ = gpu.gpus_of_engine(info, write(tmp_path, TWO))
    request = DeviceRequest(**one.docker_request(info))
    assert (request.driver, request.device_ids) == ("cdi", ["nvidia.com/gpu=0"])
    assert request.count == 0


def test_an_engine_that_lists_devices_needs_no_cdi_file(tmp_path: Path) -> None:
    names = ("0", "1", "GPU-11111111-2222", "all")
    devices = [{"Source": "cdi", "ID": f"nvidia.com/gpu={name}"} for name in names]
    info = {"CDISpecDirs": ["/etc/cdi"], "DiscoveredDevices": devices}
    found = gpu.gpus_of_engine(info, (tmp_path,))
    assert [one.name for one in found] == ["nvidia.com/gpu=0", "nvidia.com/gpu=1"]


def test_an_engine_with_the_nvidia_runtime_gets_a_device_number(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    info: dict[str, Any] = {"Runtimes": {"runc": {}, "nvidia": {}}}
    found = gpu.gpus_of_engine(info, (), tmp_path)
    assert len(found) == 2
    request = DeviceRequest(**found[1].docker_request(info))
    assert (request.driver, request.device_ids) == ("nvidia", ["1"])
    assert request.capabilities == [["gpu"]]


def test_an_engine_without_gpu_support_has_no_gpu(tmp_path: Path) -> None:
    (tmp_path / "nvidia0").touch()
    assert gpu.gpus_of_engine({"Runtimes": {"runc": {}}}, (), tmp_path) == ()
