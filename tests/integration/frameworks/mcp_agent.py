"""
The trip desk behind a server of the MCP SDK, and a client in the same process that asks for what a script says.
"""

import asyncio
from collections.abc import Sequence

from mcp.client.client import Client
from mcp.server import MCPServer

from tests.integration.frameworks.trip_desk import DeskTool, Told, Turn


def instrument() -> None:
    """
    The SDK writes spans by itself.
    """


def run(tools: Sequence[DeskTool], turns: Sequence[Turn]) -> list[Told]:
    """
    The calls of one client; what it was told of each.
    """
    return asyncio.run(_run(tools, turns))


async def _run(tools: Sequence[DeskTool], turns: Sequence[Turn]) -> list[Told]:
    server = MCPServer("trip_desk")
    for tool in tools:
        server.add_tool(tool)
    async with Client(server) as client:
        answers = [await client.call_tool(turn.tool, dict(turn.arguments)) for turn in turns]
    return [answer.structured_content for answer in answers]
