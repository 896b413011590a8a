"""The memory of GPUs and its shares, by what nvidia-smi prints. No line comes from a real GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import profiles
from sandbox.launchers import base, gpu
from sandbox.launchers.gpu import Gpu

UUID = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"
MEMORY = f"0, {UUID}, 8188\n1, GPU-66666666-7777-8888-9999-000000000000, [N/A]\n"
CARD = Gpu("nvidia.com/gpu=0", (("/dev/nvidia0", "/dev/nvidia0"),))
CARD_WITH_MEMORY = replace(CARD, memory_mb=8188)
SLICE = Gpu("nvidia.com/gpu=0:1")


def test_memory_is_known_by_number_and_uuid() -> None:
    assert gpu.parse_memory(MEMORY) == {"0": 8188, UUID: 8188}


def test_an_error_message_of_nvidia_smi_gives_no_memory() -> None:
    assert gpu.parse_memory("NVIDIA-SMI has failed, as no devices were found") == {}


def test_the_use_of_a_process_is_the_sum_over_its_devices() -> None:
    assert gpu.parse_use("4711, 512\n4711, 100\n12, [N/A]\n13, 7\n") == {
        4711: 612,
        12: None,
        13: 7,
    }
    assert gpu.parse_use("4711, 512\n4711, [N/A]\n4711, 3\n") == {4711: None}


def test_seats_divide_the_memory_of_the_gpu_of_their_match() -> None:
    share = CARD_WITH_MEMORY.shared_by(4)
    assert (share.memory_mb, share.memory_share) == (2047, 0.25)
    assert share.nodes == CARD.nodes
    assert CARD_WITH_MEMORY.shared_by(1) == CARD_WITH_MEMORY


def test_a_slice_whose_memory_is_unknown_is_named() -> None:
    (sentence,) = gpu.memory_lacks([SLICE], 2000)
    assert sentence.startswith("nvidia-smi does not tell the memory of nvidia.com/gpu=0:1")


def test_a_gpu_with_too_little_memory_is_named() -> None:
    (sentence,) = gpu.memory_lacks([replace(CARD, memory_mb=1500)], 2000)
    assert sentence == "nvidia.com/gpu=0 has 1500 MB of memory, and a box needs 2000 MB"
    assert gpu.memory_lacks([CARD_WITH_MEMORY], 2000) == ()


def test_torch_and_cuda_itself_fit_into_the_share() -> None:
    share = CARD_WITH_MEMORY.shared_by(4)
    profile = profiles.get_profile("torch-gpu")

    def environment(gpu: Gpu) -> dict[str, str]:
        box = base.BoxSpec("box", profile, 4096, 0, gpu=gpu)
        return dict(base.supervisor_setup(box, "uids")["environment"])

    limited = environment(share)["PYTORCH_ALLOC_CONF"]
    name, _, fraction = limited.partition(":")
    assert name == "per_process_memory_fraction"
    room = share.memory_mb - gpu.CONTEXT_MB
    assert float(fraction) * 8188 == pytest.approx(room, abs=1)
    assert "PYTORCH_ALLOC_CONF" not in environment(CARD)


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
    assert gpu.with_memory([CARD, SLICE]) == (CARD_WITH_MEMORY, SLICE)
    assert gpu.read_use() == {4711: 512}
    program.write_text("#!/bin/sh\necho '0, x, 1'; exit 9\n")
    assert gpu.read_memory() == {}
    program.unlink()
    assert gpu.read_memory() == {}
