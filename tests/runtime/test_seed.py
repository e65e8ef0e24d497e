"""Tests the arguments of `load --seed`. tests/security/test_m7_hash_seed.py tests what a seed is for."""

from __future__ import annotations

import pytest

from harness.data.hash_seed import Seed
from harness.live.build import build
from harness.live.server import Server
from harness.rig.bpf import BpfError
from harness.rig.netns import Rig

SMALL = {"tables": {"bucket": {"capacity": 64}}}


def loaded(server: Server, *options: str) -> tuple[int, str]:
    """`load` with options: how it ended and what it said."""
    done = server.rig.server.run(
        [str(server.build.daemon), "load", server.rig.server.iface, *options], capture_output=True, text=True
    )
    return done.returncode, done.stderr


def test_what_the_option_refuses():
    given, seed, other = Seed(1, 3, 5), str(Seed(1, 3, 5)), str(Seed(2, 3, 5))
    with Rig("seed") as rig, Server(rig, build("limiter", SMALL), seed=given) as server:
        assert server.tables_seed() == given
        server.unload()
        code, said = loaded(server, "--seed", other)
        assert code == 1 and "the existing tables use another seed" in said
        for wrong in ("", "1", seed + "0", seed[:-1] + "g", str(Seed(1, 2, 5)), str(Seed(1, 3, 4))):
            code, said = loaded(server, "--seed", wrong)
            assert code == 2 and f"--seed {wrong}: give 48 hexadecimal digits" in said
        code, said = loaded(server, "--seed", seed)
        assert code == 0, said


def test_a_protocol_that_hashes_nothing_has_no_seed():
    with Rig("seed") as rig, Server(rig, build("log")) as server:
        server.unload()
        code, said = loaded(server, "--seed", str(Seed(1, 1, 1)))
        assert code == 1 and "log accepts no --seed: it finds no cell by a hash" in said
        server.load()
        with pytest.raises(BpfError, match="state/seed: No such file"):
            server.tables_seed()
