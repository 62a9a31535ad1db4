"""
docker-compose.yml says what it should: nothing is published, nothing runs as root, nothing floats.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import Cli
from tests.compose import COMPOSE, ROOT, SERVICES
from toolspan import __version__
from toolspan.cli import COMMANDS

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
_PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+\.\d+(-[\w.-]+)?")


@pytest.mark.parametrize("name", SERVICES)
class TestService:
    def test_is_published_on_this_machine_alone(self, name: str) -> None:
        """
        Docker's rules for ports come before those of a firewall.
        """
        ports = SERVICES[name].get("ports", [])

        assert bool(ports) == (name != "demo")  # which only sends
        assert all(re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port) for port in ports)

    def test_is_nobody_and_may_do_nothing(self, name: str) -> None:
        """
        No root, no capability, nothing written but to its volumes.
        """
        service = SERVICES[name]

        assert int(service["user"].partition(":")[0]) > 0
        assert (["ALL"], ["no-new-privileges:true"], True) == (
            service["cap_drop"],
            service["security_opt"],
            service["read_only"],
        )
        assert not {"privileged", "network_mode", "pid", "cap_add", "devices"} & set(service)

    def test_has_a_version(self, name: str) -> None:
        """
        To the patch.
        """
        assert _PINNED.fullmatch(SERVICES[name]["image"])

    def test_says_whether_it_is_well(self, name: str) -> None:
        """
        Within bounds of time.
        """
        check = SERVICES[name]["healthcheck"]

        assert {"test", "interval", "timeout", "retries", "start_period"} <= set(check)

    def test_waits_for_services_that_there_are(self, name: str) -> None:
        """
        Until they are well.
        """
        awaited: Any = SERVICES[name].get("depends_on", {})

        assert set(awaited) <= set(SERVICES)
        assert all(each == {"condition": "service_healthy"} for each in awaited.values())

    def test_mounts_what_there_is(self, name: str) -> None:
        """
        Files of this project, which it cannot change, and volumes that are declared.
        """
        for volume in SERVICES[name].get("volumes", []):
            source, _, *mode = volume.split(":")
            if source.startswith("./"):
                assert (ROOT / source).exists()
                assert ["ro"] == mode
            else:
                assert source in COMPOSE["volumes"]


def test_every_service_is_there() -> None:
    """
    And every volume is used.
    """
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}

    assert {"collector", "dashboard", "prometheus", "alertmanager", "grafana"} <= set(SERVICES)
    assert set(COMPOSE["volumes"]) <= used


def test_our_services_run_our_image() -> None:
    """
    Of this version, with commands that there are.
    """
    ours = {name: service for name, service in SERVICES.items() if service["image"].startswith("toolspan:")}

    assert {f"toolspan:{__version__}"} == {service["image"] for service in ours.values()}
    assert {"toolspan", "python"} == {service["command"][0] for service in ours.values()}
    assert all(service["command"][1] in COMMANDS for name, service in ours.items() if name != "demo")
    assert ["collector"] == [name for name, service in ours.items() if "build" in service]


def test_the_mounted_rules_are_those_that_are_printed(toolspan: Cli) -> None:
    """
    Made by `toolspan alerts > deploy/rules.yml`.
    """
    assert (ROOT / "deploy" / "rules.yml").read_text(encoding="utf-8") == toolspan("alerts").out


class TestDockerfile:
    def test_has_versions(self) -> None:
        """
        Of every image that it begins with.
        """
        images = re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE)

        assert len(images) == 2
        assert all(_PINNED.fullmatch(image) for image in images)

    def test_ends_as_the_user_of_the_services(self) -> None:
        """
        Who owns the volume.
        """
        [user] = re.findall(r"^USER (\S+)$", DOCKERFILE, flags=re.MULTILINE)

        assert {user} == {SERVICES[name]["user"] for name in ("collector", "dashboard")}
        assert f"--owner {user.partition(':')[0]}" in DOCKERFILE

    def test_copies_all_that_the_wheel_is_made_of(self) -> None:
        """
        The packages, and the files that the metadata names.
        """
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        needed = {
            "pyproject.toml",
            project["project"]["readme"],
            *project["project"]["license-files"],
            *(Path(package).parts[0] for package in packages),
        }

        copied = {
            word
            for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, flags=re.MULTILINE)
            for word in line.split()[:-1]
        }
        assert needed == copied
