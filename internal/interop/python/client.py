# SPDX-License-Identifier: Apache-2.0
"""A client made with the Python SDK that a test drives over standard input and output: see the type driver in peer_test.go.

The arguments are the agent's command line.
"""

import asyncio
import itertools
import json
import logging
import os
import sys

import acp
from acp import schema
from pydantic import TypeAdapter

LIMIT = 64 << 20  # bytes of a line


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Problems(logging.Handler):
    """The SDK logs what it could not make sense of.

    It does not know $/cancel_request, as the protocol allows, and logs that as an error.
    """

    def emit(self, record):
        if "$/cancel_request" not in record.getMessage():
            send({"problem": self.format(record)})


def dump(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if model is not None else {}


# What the agent calls: the method's name here and on the wire, and the types of its parameters and result.
REQUESTS = [
    ("request_permission", "session/request_permission", schema.RequestPermissionRequest, schema.RequestPermissionResponse),
    ("read_text_file", "fs/read_text_file", schema.ReadTextFileRequest, schema.ReadTextFileResponse),
    ("write_text_file", "fs/write_text_file", schema.WriteTextFileRequest, schema.WriteTextFileResponse),
    ("create_terminal", "terminal/create", schema.CreateTerminalRequest, schema.CreateTerminalResponse),
    ("terminal_output", "terminal/output", schema.TerminalOutputRequest, schema.TerminalOutputResponse),
    ("wait_for_terminal_exit", "terminal/wait_for_exit", schema.WaitForTerminalExitRequest, schema.WaitForTerminalExitResponse),
    ("kill_terminal", "terminal/kill", schema.KillTerminalRequest, schema.KillTerminalResponse),
    ("release_terminal", "terminal/release", schema.ReleaseTerminalRequest, schema.ReleaseTerminalResponse),
]

# What the test calls.
CALLS = {
    "initialize": ("initialize", schema.InitializeRequest),
    "authenticate": ("authenticate", schema.AuthenticateRequest),
    "session/new": ("new_session", schema.NewSessionRequest),
    "session/prompt": ("prompt", schema.PromptRequest),
    "session/load": ("load_session", schema.LoadSessionRequest),
    "session/resume": ("resume_session", schema.ResumeSessionRequest),
    "session/list": ("list_sessions", schema.ListSessionsRequest),
    "session/close": ("close_session", schema.CloseSessionRequest),
    "session/fork": ("fork_session", schema.ForkSessionRequest),
    "session/set_mode": ("set_session_mode", schema.SetSessionModeRequest),
    "session/set_config_option": ("set_config_option", schema.SetSessionConfigOptionSelectRequest),
    "session/cancel": ("cancel", schema.CancelNotification),
}


class Client:
    """Hands what the agent calls to the test."""

    def __init__(self):
        self.ids = itertools.count(1)
        self.waiting = {}

    async def ask(self, method, params):
        request = next(self.ids)
        answer = self.waiting[request] = asyncio.get_running_loop().create_future()
        send({"request": request, "method": method, "params": params})
        return await answer

    def answered(self, message):
        answer = self.waiting.pop(message["answer"])
        if "error" in message:
            error = message["error"]
            answer.set_exception(acp.RequestError(error["code"], error["message"], error.get("data")))
        else:
            answer.set_result(message["result"])

    async def create_elicitation(self, message, mode, **kwargs):
        kind = "url" if hasattr(mode, "url") else "form"
        answer = await self.ask("elicitation/create", {"message": message, "mode": kind, **dump(mode)})
        return TypeAdapter(schema.CreateElicitationResponse).validate_python(answer)

    async def complete_elicitation(self, elicitation_id, **kwargs):
        send({"notification": "elicitation/complete", "params": {"elicitationId": elicitation_id}})

    async def session_update(self, session_id, update, **kwargs):
        note = schema.SessionNotification(session_id=session_id, update=update)
        send({"notification": "session/update", "params": dump(note)})


def handler(method, request, response):
    async def handle(self, **params):
        return response.model_validate(await self.ask(method, dump(request(**params))))

    return handle


for name, method, request, response in REQUESTS:
    setattr(Client, name, handler(method, request, response))


async def call(agent, message):
    method = message.get("method") or message["notify"]
    try:
        if method.startswith("_"):  # the SDK puts the underscore before the name
            extension = agent.ext_method if "call" in message else agent.ext_notification
            answer = {"result": await extension(method[1:], message["params"])}
        else:
            name, request = CALLS[method]
            model = request.model_validate(message["params"])
            result = await getattr(agent, name)(**{field: getattr(model, field) for field in model.model_fields_set})
            answer = {"result": dump(result)}
    except acp.RequestError as error:
        answer = {"error": error.to_error_obj()}
    except Exception as error:  # the answer is not what the SDK's types say
        answer = {"error": {"code": 0, "message": f"{type(error).__name__}: {error}"}}
    if "call" in message:
        send({"answer": message["call"], **answer})


async def main():
    logging.getLogger().addHandler(Problems(logging.WARNING))
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader(limit=LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    process = await asyncio.create_subprocess_exec(
        *sys.argv[1:], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=os.environ, limit=LIMIT
    )
    client = Client()
    agent = acp.connect_to_agent(client, process.stdin, process.stdout, use_unstable_protocol=True)
    calls = set()
    while line := await commands.readline():
        message = json.loads(line)
        if "answer" in message:
            client.answered(message)
        else:
            task = asyncio.create_task(call(agent, message))
            calls.add(task)
            task.add_done_callback(calls.discard)
    process.stdin.close()
    code = await process.wait()
    await agent.close()
    return code


sys.exit(asyncio.run(main()))
