# SPDX-License-Identifier: Apache-2.0
"""The program of examples/desk as users of Pydantic AI write it: the same agent in a terminal, an editor, a browser and as an MCP server."""

# The tools, and a model that needs nothing: what both programs have.
from pydantic_ai.models.test import TestModel


def order(number: str) -> str:
    """Look up an order."""
    return "a lamp, delivered"


def refund(number: str, amount: int) -> str:
    """Refund a part of what was paid for an order."""
    return f"Refunded {amount}."


# The program.
import sys
import uvicorn
from mcp.server.mcpserver import MCPServer
from pydantic_acp import run_acp
from pydantic_ai import Agent, Tool

desk = Agent(TestModel(), name="desk", tools=[order, Tool(refund, requires_approval=True)])
server = MCPServer("desk")


@server.tool()
async def ask(prompt: str) -> str:
    return (await desk.run(prompt)).output


match sys.argv[1]:
    case "chat":
        desk.to_cli_sync(prog_name="desk")
    case "acp":
        run_acp(agent=desk)
    case "web":
        uvicorn.run(desk.to_web(), port=int(sys.argv[2]))
    case "mcp":
        server.run()
