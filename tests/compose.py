"""
The services of docker-compose.yml as processes of this machine: the very commands, with paths and ports of a test.
"""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parent.parent
COMPOSE: Any = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: Mapping[str, Any] = COMPOSE["services"]

#: How long anything here may take on a machine that does other things.
PATIENCE_S = 90
_AGAIN_S = 0.2


class Machine(NamedTuple):
    """
    What stands in the place of a network of containers: *folder* for their volumes, and a port for each of theirs.
    """

    folder: Path
    ports: Mapping[str, int]

    def mapped(self, text: str) -> str:
        """
        *text* of a service with the names, ports and paths of this machine; nobody waits half a minute here.
        """
        for name in SERVICES:
            text = text.replace(f"{name}:", "127.0.0.1:")
        for port, free in self.ports.items():
            text = re.sub(rf"(?<=:){port}\b|(?<=--port=){port}\b", str(free), text)
        text = text.replace("0.0.0.0:", "127.0.0.1:").replace("--host=0.0.0.0", "--host=127.0.0.1")
        text = re.sub(r"(?<=interval: )\d+s", "1s", text)
        return re.sub(r"(?<==)/(?=\w)(?!dev/)", f"{self.folder}/", text)

    def url(self, service: str) -> str:
        """
        Where the first port of *service* is.
        """
        return f"http://127.0.0.1:{self.ports[ports_of(service)[-1]]}"


def ports_of(service: str) -> list[str]:
    """
    The ports that *service* listens on.
    """
    return [published.rpartition(":")[2] for published in SERVICES[service].get("ports", [])]


def machine(folder: Path) -> Machine:
    """
    A machine that has the files that are mounted, in *folder*, and free ports.
    """
    wanted = [port for service in SERVICES for port in ports_of(service)]
    held = [socket.create_server(("127.0.0.1", 0)) for _ in wanted]
    made = Machine(folder, {port: each.getsockname()[1] for port, each in zip(wanted, held, strict=True)})
    for each in held:
        each.close()
    for service in SERVICES.values():
        volumes: list[str] = service.get("volumes", [])
        for volume in volumes:
            source, target, *_ = volume.split(":")
            place = folder / target.removeprefix("/")
            if (ROOT / source).is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(made.mapped((ROOT / source).read_text(encoding="utf-8")), encoding="utf-8")
            else:
                place.mkdir(parents=True, exist_ok=True)
    return made


def environment_of(service: str) -> dict[str, str]:
    """
    The environment of *service*, with the defaults of its variables.
    """
    given: Mapping[str, str] = SERVICES[service].get("environment", {})
    return {name: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value) for name, value in given.items()}


def start(service: str, on: Machine, *, program: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
    """
    Starts *service*; *program* is what the image would run, where the command has arguments alone.
    """
    command = [on.mapped(word) for word in SERVICES[service]["command"]]
    if command[0] in ("toolspan", "python"):
        command[0] = str(Path(sys.executable).with_name(command[0]))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSPAN_")}
    with (on.folder / f"{service}.log").open("wb") as log:
        return subprocess.Popen(
            [*program, *command],
            cwd=on.folder,
            env={**environ, **environment_of(service)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def await_health(service: str, on: Machine, process: "subprocess.Popen[bytes]") -> None:
    """
    Asks by the very health check of *service* until it passes.
    """
    kind, *words = SERVICES[service]["healthcheck"]["test"]
    assert kind == "CMD"
    check = [on.mapped(word) for word in words]
    if check[0] == "python":
        check[0] = sys.executable
    end = time.monotonic() + PATIENCE_S
    while (asked := subprocess.run(check, capture_output=True, check=False, timeout=PATIENCE_S)).returncode:
        log = (on.folder / f"{service}.log").read_text(errors="replace")
        assert process.poll() is None, f"{service} ended: {log}"
        assert time.monotonic() < end, f"{shlex.join(check)}: {asked.stderr.decode()}; {log}"
        time.sleep(_AGAIN_S)
