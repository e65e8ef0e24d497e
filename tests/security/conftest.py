"""Provides the server of the live tests, for modules that have a `rig` and a `built` and no `server` of their own."""

from __future__ import annotations

from tests.live.conftest import server

__all__ = ["server"]
