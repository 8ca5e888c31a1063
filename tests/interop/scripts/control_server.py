"""The server with each feature once, under the name `features` on a control channel: `control_server.py ERA`."""

from __future__ import annotations

import asyncio
import sys

import eras_server

from anywire.transport.control.sole import control_face

face = control_face("features")
asyncio.run(getattr(eras_server, sys.argv[1]).serve(face))
