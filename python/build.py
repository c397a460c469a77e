"""Puts the built program into the wheel. internal/cmd/dist sets the environment:

ROWTOCOL_WHEEL_PROGRAM  the program
ROWTOCOL_WHEEL_LICENSES the directory with the licences of what is linked into it
ROWTOCOL_WHEEL_VERSION  its version, as Python writes versions
ROWTOCOL_WHEEL_PLATFORM the platforms it runs on, such as macosx_11_0_arm64
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Version(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        metadata["version"] = os.environ["ROWTOCOL_WHEEL_VERSION"]


class Program(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + os.environ["ROWTOCOL_WHEEL_PLATFORM"]
        build_data["shared_scripts"][os.environ["ROWTOCOL_WHEEL_PROGRAM"]] = "rowtocol"
        build_data["shared_data"][os.environ["ROWTOCOL_WHEEL_LICENSES"]] = "share/doc/rowtocol/licenses"
