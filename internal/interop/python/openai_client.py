# SPDX-License-Identifier: Apache-2.0
"""The openai SDK as a program uses it, against an agent: openai_client.py BASE_URL TOKEN. The agent counts, calls a tool, tells a story
without an end, or fails, as the prompt says."""
import asyncio
import sys

import openai

base, token = sys.argv[1:]
client = openai.OpenAI(base_url=base, api_key=token)


def user(text):
    return [{"role": "user", "content": text}]


assert [m.id for m in client.models.list()] == ["agent"]
assert client.models.retrieve("agent").object == "model"

# Chat completions, whole and streamed.
c = client.chat.completions.create(model="agent", messages=user("count"))
assert c.choices[0].message.content == "0 1 2 3 4 5 6 7 8 9 ", c
assert c.choices[0].finish_reason == "stop" and c.choices[0].message.tool_calls is None
assert (c.usage.prompt_tokens, c.usage.completion_tokens, c.usage.total_tokens) == (11, 20, 31)
assert c.usage.prompt_tokens_details.cached_tokens == 4 and c.usage.completion_tokens_details.reasoning_tokens == 3
text, usage, reasons = "", None, []
for chunk in client.chat.completions.create(model="agent", messages=user("count"), stream=True, stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        text += choice.delta.content or ""
        reasons.append(choice.finish_reason)
assert text == "0 1 2 3 4 5 6 7 8 9 " and reasons[-1] == "stop" and usage.total_tokens == 31
with client.chat.completions.stream(model="agent", messages=user("count")) as stream:
    assert stream.get_final_completion().choices[0].message.content == text
c = client.chat.completions.create(model="agent", messages=user("count"), stop="5", max_tokens=50)
assert c.choices[0].message.content == "0 1 2 3 4 ", c

# What the client says of the conversation, and a picture.
png = "data:image/png;base64,iVBORw0KGgo="
c = client.chat.completions.create(model="agent", messages=[
    {"role": "system", "content": "You are a pirate."}, {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"},
    {"role": "user", "content": [{"type": "text", "text": "recall"}, {"type": "image_url", "image_url": {"url": png}}]}])
assert c.choices[0].message.content == "user:one assistant:two user:recall user:image/png", c
assert "messages[0] is left out" in c.warnings[0]

# Responses, whole and streamed: the agent's own calls are items that are complete.
r = client.responses.create(model="agent", input="count", instructions="You are a pirate.")
assert r.status == "completed" and r.output_text == text and r.store is False, r
assert r.usage.input_tokens == 11 and r.usage.output_tokens_details.reasoning_tokens == 3
r = client.responses.create(model="agent", input=[{"role": "user", "content": [{"type": "input_text", "text": "recall"}, {"type": "input_image", "image_url": png}]}])
assert r.output_text == "user:recall user:image/png", r
with client.responses.stream(model="agent", input="use the tool") as stream:
    kinds = [event.type for event in stream]
    r = stream.get_final_response()
assert kinds[0] == "response.created" and kinds[-1] == "response.completed" and "response.mcp_call.completed" in kinds, kinds
assert [item.type for item in r.output] == ["message", "mcp_call", "mcp_call", "message"], r
assert (r.output[1].name, r.output[1].output, r.output[1].error) == ("add", "5", None)
assert r.output[2].name == "pay" and "denied" in str(r.output[2].error), r
again = client.responses.create(model="agent", input=user("use the tool") + r.output + user("recall"))
assert "assistant:" in again.output_text and "add" not in again.output_text, again

# Errors are those of the SDK, and what has failed is not sent again.
def fails(kind, f, **want):
    try:
        f()
    except kind as err:
        for name, value in want.items():
            assert getattr(err, name) == value, (name, getattr(err, name))
        return err
    raise AssertionError(f"no {kind}")


fails(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-4o", messages=user("x")), code="model_not_found", param="model")
fails(openai.AuthenticationError, lambda: openai.OpenAI(base_url=base, api_key="wrong").models.list(), code="invalid_api_key")
fails(openai.BadRequestError, lambda: client.chat.completions.create(model="agent", messages=user("x"), tools=[{"type": "function", "function": {"name": "f"}}]), param="tools")
fails(openai.BadRequestError, lambda: client.chat.completions.create(model="agent", messages=[{"role": "tool", "tool_call_id": "a", "content": "paid"}]), param="messages[0]")
fails(openai.BadRequestError, lambda: client.responses.create(model="agent", input="x", previous_response_id="resp_1"), param="previous_response_id")
fails(openai.NotFoundError, lambda: client.responses.retrieve("resp_1"), code="not_stored")
assert "The model has failed" in str(fails(openai.InternalServerError, lambda: client.chat.completions.create(model="agent", messages=user("fail")), code="run_failed"))
assert "The model has failed" in str(fails(openai.APIError, lambda: list(client.chat.completions.create(model="agent", messages=user("half"), stream=True))))
with client.responses.stream(model="agent", input="half") as stream:
    assert [e for e in stream][-1].response.error.code == "server_error"

# Cancelled in mid-stream, by closing the stream and by cancelling the task.
with client.chat.completions.create(model="agent", messages=user("story"), stream=True) as stream:
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
with client.responses.create(model="agent", input="story", stream=True) as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            break


async def cancelled():
    async with openai.AsyncOpenAI(base_url=base, api_key=token) as later:
        heard = asyncio.Event()

        async def read():
            async for chunk in await later.chat.completions.create(model="agent", messages=user("story"), stream=True):
                if chunk.choices[0].delta.content:
                    heard.set()

        task = asyncio.create_task(read())
        await heard.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


asyncio.run(cancelled())
print("done")
