# SPDX-License-Identifier: Apache-2.0
"""An ACP agent made with pydantic-acp that calls each of its tools once, without a model. One of them needs permission."""

import pydantic_acp
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

agent = Agent(TestModel())


@agent.tool_plain
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b + 40


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


pydantic_acp.run_acp(agent=agent)
