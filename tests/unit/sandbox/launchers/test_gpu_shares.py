"""GPUs divided into shares, by what nvidia-smi prints. No line comes from a real GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import profiles
from sandbox.launchers import base, gpu_shares
from sandbox.launchers.gpu import Gpu, GpuPool
from sandbox.node.__main__ import _parse_arguments

UUID = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"
MEMORY = f"0, {UUID}, 8188\n1, GPU-66666666-7777-8888-9999-000000000000, [N/A]\n"
CARD = Gpu("nvidia.com/gpu=0", (("/dev/nvidia0", "/dev/nvidia0"),))
SLICE = Gpu("nvidia.com/gpu=0:1")


def test_memory_is_known_by_number_and_uuid() -> None:
    assert gpu_shares.parse_memory(MEMORY) == {"0": 8188, UUID: 8188}


def test_an_error_message_of_nvidia_smi_gives_no_memory() -> None:
    assert gpu_shares.parse_memory("NVIDIA-SMI has failed, as no devices were found") == {}


def test_the_use_of_a_process_is_the_sum_over_its_devices() -> None:
    assert gpu_shares.parse_use("4711, 512\n4711, 100\n12, [N/A]\n13, 7\n") == {
        4711: 612,
        12: None,
        13: 7,
    }
    assert gpu_shares.parse_use("4711, 512\n4711, [N/A]\n4711, 3\n") == {4711: None}


def test_a_gpu_is_whole_unless_the_operator_shares_it() -> None:
    assert gpu_shares.divide_gpus([CARD], {"0": 81559}, 1, 2000) == (CARD,)


def test_a_device_has_as_many_shares_as_its_memory_allows() -> None:
    assert len(gpu_shares.divide_gpus([CARD], {"0": 8188}, 4, 2000)) == 4
    assert len(gpu_shares.divide_gpus([CARD], {"0": 7999}, 4, 2000)) == 3
    assert gpu_shares.divide_gpus([CARD], {"0": 1999}, 4, 2000) == ()


def test_shares_divide_the_memory_of_a_device() -> None:
    shares = gpu_shares.divide_gpus([CARD], {"0": 8188}, 4, 2000)
    assert {share.memory_mb for share in shares} == {2047}
    assert {share.memory_share for share in shares} == {0.25}
    assert {share.nodes for share in shares} == {CARD.nodes}


def test_a_slice_is_not_shared() -> None:
    assert gpu_shares.divide_gpus([SLICE], {"0": 8188}, 4, 2000) == (SLICE,)
    (sentence,) = gpu_shares.share_lacks([SLICE], {"0": 8188}, 4, 2000)
    assert sentence.startswith("nvidia.com/gpu=0:1 is not shared")


def test_a_gpu_with_too_little_memory_is_named() -> None:
    (sentence,) = gpu_shares.share_lacks([CARD], {"0": 5000}, 4, 2000)
    assert sentence.endswith("a box needs 2000 MB: 2 of 4 boxes can use it")
    assert gpu_shares.share_lacks([CARD], {"0": 8188}, 4, 2000) == ()
    assert gpu_shares.share_lacks([CARD], {}, 1, 2000) == (), "nobody asked for shares"


def test_boxes_spread_over_the_devices() -> None:
    other = Gpu("nvidia.com/gpu=1")
    shares = gpu_shares.divide_gpus([CARD, other], {"0": 8188, "1": 8188}, 2, 2000)
    devices = GpuPool(shares)
    first, second = devices.take(), devices.take()
    assert first is not None
    assert second is not None
    assert {first.name, second.name} == {CARD.name, other.name}
    devices.give_back(first)
    devices.give_back(first)
    assert devices.free == 3


def test_torch_and_cuda_itself_fit_into_the_share() -> None:
    share, *_ = gpu_shares.divide_gpus([CARD], {"0": 8188}, 4, 2000)
    profile = profiles.get_profile("torch-gpu")

    def environment(gpu: Gpu) -> dict[str, str]:
        box = base.BoxSpec("box", profile, 4096, 0, gpu=gpu)
        return dict(base.supervisor_setup(box, "uids")["environment"])

    limited = environment(share)["PYTORCH_ALLOC_CONF"]
    name, _, fraction = limited.partition(":")
    assert name == "per_process_memory_fraction"
    room = share.memory_mb - gpu_shares.CONTEXT_MB
    assert float(fraction) * 8188 == pytest.approx(room, abs=1)
    assert "PYTORCH_ALLOC_CONF" not in environment(CARD)


NODE = ["--socket", "node.sock", "--run-dir", "."]


def test_a_node_shares_no_gpu_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PECK_GPU_SHARES", raising=False)
    assert _parse_arguments(NODE).gpu_shares == 1
    monkeypatch.setenv("PECK_GPU_SHARES", "4")
    assert _parse_arguments(NODE).gpu_shares == 4
    assert _parse_arguments([*NODE, "--gpu-shares", "2"]).gpu_shares == 2


@pytest.mark.parametrize("text", ["0", "17", "four"])
def test_an_impossible_number_of_shares_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PECK_GPU_SHARES", text)
    with pytest.raises(SystemExit):
        _parse_arguments(NODE)
    assert f"'{text}' is not a number from 1 to 16" in capsys.readouterr().err


def test_memory_and_use_come_from_nvidia_smi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f'"--query-gpu=index,uuid,memory.total --format=csv,noheader,nounits")'
        f' echo "0, {UUID}, 8188" ;;\n'
        '"--query-compute-apps=pid,used_memory --format=csv,noheader,nounits")'
        ' echo "4711, 512" ;;\n'
        "*) exit 1 ;;\n"
        "esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_shares.read_memory() == {"0": 8188, UUID: 8188}
    assert gpu_shares.read_use() == {4711: 512}
    program.write_text("#!/bin/sh\necho '0, x, 1'; exit 9\n")
    assert gpu_shares.read_memory() == {}
    program.unlink()
    assert gpu_shares.read_memory() == {}
