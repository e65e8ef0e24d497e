"""Tests harness.rig.bpf against the real kernel."""

from __future__ import annotations

import struct

import pytest

from harness.rig import Rig, bpf

PACKET = bytes(range(64))


def test_test_run_hands_back_action_and_packet(bpf_object):
    with bpf.Object.open(bpf_object("counting")) as programs:
        result = programs.program("count").test_run(PACKET)
    assert result.action == bpf.XDP_TX
    assert result.data == PACKET[6:12] + PACKET[:6] + PACKET[12:]


def test_repeat_runs_the_program_that_often(bpf_object):
    with bpf.Object.open(bpf_object("counting")) as programs:
        programs.program("count").test_run(PACKET, repeat=1000)
        assert struct.unpack("<Q", programs.variable("runs").read()) == (1000,)
        per_cpu = programs.map("counters").lookup_on_each_cpu(0)
        assert len(per_cpu) == bpf.possible_cpu_count()
        assert sum(struct.unpack("<3I", each)[2] for each in per_cpu) == 1000


def test_variables_steer_the_program(bpf_object):
    with bpf.Object.open(bpf_object("counting")) as programs:
        control = programs.variable("control")
        assert control.read() == struct.pack("<QIxxxx", 1, 0)
        control.write(struct.pack("<QIxxxx", 5, 3))
        programs.program("count").test_run(PACKET)
        assert programs.map("cells").lookup(3) == struct.pack("<Q", 5)
        with pytest.raises(ValueError, match="control has 16 bytes, not 4"):
            control.write(bytes(4))


def test_maps_by_lookup_update_and_memory(bpf_object):
    with bpf.Object.open(bpf_object("counting")) as programs:
        cells = programs.map("cells")
        assert cells.capacity == 8
        cells.update(7, struct.pack("<Q", 7))
        view = cells.mmap()
        assert view[7 * 8 : 8 * 8] == struct.pack("<Q", 7)
        view[0:8] = struct.pack("<Q", 9)
        assert cells.lookup(0) == struct.pack("<Q", 9)
        with pytest.raises(KeyError):
            cells.lookup(8)


def test_per_cpu_update(bpf_object):
    with bpf.Object.open(bpf_object("counting")) as programs:
        values = [struct.pack("<3I", cpu, cpu + 1, cpu + 2) for cpu in range(bpf.possible_cpu_count())]
        programs.map("counters").update(0, values)
        assert programs.map("counters").lookup_on_each_cpu(0) == values


def test_a_map_is_asked_for_what_it_has(bpf_object):
    with bpf.Object.open(bpf_object("counting")) as programs:
        with pytest.raises(ValueError, match="counters has a value for each CPU: call lookup_on_each_cpu"):
            programs.map("counters").lookup(0)
        with pytest.raises(ValueError, match="cells has one value for all CPUs: call lookup"):
            programs.map("cells").lookup_on_each_cpu(0)


def test_only_one_program_is_loaded(bpf_object):
    with bpf.Object.open(bpf_object("counting"), only=["count"]) as programs:
        assert programs.program("count").test_run(PACKET).action == bpf.XDP_TX
    with bpf.Object.open(bpf_object("refused"), only=["another"]) as programs:
        assert programs.programs()[0].fd < 0, "what the verifier refuses was not asked for"


def test_pinned_maps(bpf_object):
    with Rig("pin") as rig, bpf.Object.open(bpf_object("counting")) as programs:
        path = f"{rig.bpffs}/cells"
        programs.map("cells").pin(path)
        pinned = bpf.Map.pinned(path)
        pinned.update(1, struct.pack("<Q", 3))
        assert programs.map("cells").lookup(1) == struct.pack("<Q", 3)
        assert pinned.capacity == 8


def test_refusals_say_what_and_why(bpf_object, tmp_path):
    with pytest.raises(bpf.BpfError, match="No such file"):
        bpf.Object.open(tmp_path / "absent.bpf.o")
    with pytest.raises(bpf.BpfError) as refused:
        bpf.Object.open(bpf_object("refused"))
    assert "invalid access to packet" in refused.value.log
    with bpf.Object.open(bpf_object("counting")) as programs:
        with pytest.raises(KeyError, match="no program absent; it has count"):
            programs.program("absent")
        with pytest.raises(KeyError, match="no map absent; it has cells, counters"):
            programs.map("absent")
        with pytest.raises(KeyError, match="no variable absent"):
            programs.variable("absent")


def test_the_pass_program_passes():
    assert bpf.load_xdp_pass().test_run(PACKET).action == bpf.XDP_PASS
