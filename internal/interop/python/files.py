# SPDX-License-Identifier: Apache-2.0
"""A client made with the Python SDK, with files of its own: files.py DIRECTORY COMMAND... It allows everything, and makes one prompt.

Files are handled as by the client in the SDK's examples/gemini.py, at commit 769f582: Path.read_text and Path.write_text.
"""

import asyncio
import sys
from pathlib import Path

import acp
from acp import schema

LIMIT = 64 << 20  # bytes of a line


def window(text, line, limit):
    lines = text.splitlines()
    start = (line or 1) - 1
    return "\n".join(lines[start : start + limit if limit else None])


class Client:
    async def request_permission(self, options, **kwargs):
        allow = next(o for o in options if o.kind == "allow_once")
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(option_id=allow.option_id, outcome="selected"))

    async def read_text_file(self, path, limit=None, line=None, **kwargs):
        text = Path(path).read_text()
        if line is not None or limit is not None:
            text = window(text, line, limit)
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(self, content, path, **kwargs):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content)
        return schema.WriteTextFileResponse()

    async def session_update(self, **kwargs):
        pass


async def main():
    directory, *command = sys.argv[1:]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LIMIT
    )
    agent = acp.connect_to_agent(Client(), process.stdin, process.stdout)
    files = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
    await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=schema.ClientCapabilities(fs=files))
    session = await agent.new_session(cwd=directory, mcp_servers=[])
    await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
    process.stdin.close()
    code = await process.wait()
    await agent.close()
    return code


sys.exit(asyncio.run(main()))
