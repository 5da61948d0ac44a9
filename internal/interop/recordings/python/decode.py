# SPDX-License-Identifier: Apache-2.0
"""What the recorded answer of a provider says, read after the providers' API references.

This shares nothing with Ponte: it is what Ponte's adapters are held against. answer() returns a dictionary with either "error"
(status, message, code, type) or "message": id, model, finish, usage and parts. A part has a "kind":

    text        text; phase, if the provider labels it
    thinking    text, signature, id
    tool_call   id (empty if the provider gave none), tool, args as written; or args_json, where the wire has JSON in place of a
                string; extra, what else the provider wants back with the call, and signature
    media       media_type, data (base64), id
    block       json: something that only the provider understands
    citations   list: what the text before it rests on, as the provider wrote it
    signature   signature of the text before it (base64)
"""

import json
import re


class Skip(Exception):
    """Raised for an answer that is not compared, with the reason."""


def answer(protocol, status, body):
    streamed = is_stream(body)
    if status >= 400 or not streamed and protocol == "chat" and json.loads(body).get("error"):
        return {"error": error(status, json.loads(body))}
    reader = {
        ("chat", False): chat, ("chat", True): chat_stream,
        ("responses", False): response, ("responses", True): response_stream,
        ("anthropic", False): anthropic, ("anthropic", True): anthropic_stream,
        ("gemini", False): gemini, ("gemini", True): gemini_stream,
    }[protocol, streamed]
    message = reader(list(events(body)) if streamed else json.loads(body))
    return {"message": message}


def is_stream(body):
    return not body.lstrip().startswith((b"{", b"["))


def events(body):
    """Yield the data of server-sent events (HTML standard, 9.2.6), decoded from JSON; [DONE] ends them."""
    data = []
    for line in re.split("\r\n|\n|\r", body.decode("utf-8-sig")) + [""]:
        if line == "":
            joined = "\n".join(data)
            data = []
            if joined.strip() == "[DONE]":
                return
            if joined:
                yield json.loads(joined)
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))


def error(status, body):
    said = body.get("error", body)
    message = said.get("message") or said.get("detail")
    code = said.get("code")
    if status < 400:
        status = said["status"]  # which it had before the recorder, or a gateway, made it 200
    if str(code) == str(status):
        code = None  # the status once more
    return {"status": status, "message": message, "code": code or "", "type": said.get("type") or ""}


def usage(given, read, written, cached=0, stored=0, reasoning=0):
    """Counts of tokens; given says whether the provider reported any."""
    if not given:
        return {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "reasoning": 0}
    return {"input": read, "output": written, "cache_read": cached, "cache_write": stored, "reasoning": reasoning}


def number(of, *path):
    """The number at a path of members, or 0."""
    for name in path:
        of = (of or {}).get(name)
    return of or 0


# OpenAI's Chat Completions, and who else speaks it.


def chat(body):
    choice = next(c for c in body["choices"] if c.get("index", 0) == 0)
    message = choice.get("message") or {}  # Azure's filter leaves none
    if message.get("function_call"):
        raise Skip("legacy function_call, the answer to a request that Ponte never makes")
    calls = [
        {"id": c["id"], "tool": c["function"]["name"], "args": c["function"]["arguments"]}
        for c in message.get("tool_calls") or []
    ]
    return chat_message(
        body.get("id"), body.get("model"), choice.get("finish_reason"), chat_usage(body.get("usage")),
        message.get("reasoning_content") or message.get("reasoning"), message.get("content"), message.get("refusal"), calls,
        message.get("annotations"),
    )


def chat_stream(chunks):
    ident, name, finish, counted = None, None, None, None
    thinking, text, refusal, calls, order, annotations = "", "", "", {}, [], []
    for chunk in chunks:
        ident = ident or chunk.get("id")
        name = name or chunk.get("model")
        counted = chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage") or counted
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) != 0:
                continue
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or {}
            if delta.get("function_call"):
                raise Skip("legacy function_call, the answer to a request that Ponte never makes")
            thinking += delta.get("reasoning_content") or delta.get("reasoning") or ""
            text += delta.get("content") or ""
            refusal += delta.get("refusal") or ""
            annotations += delta.get("annotations") or []
            for piece in delta.get("tool_calls") or []:
                index = piece.get("index", 0)
                if index not in calls:
                    calls[index] = {"id": "", "tool": "", "args": ""}
                    order.append(index)
                function = piece.get("function") or {}
                calls[index]["id"] = calls[index]["id"] or piece.get("id") or ""
                calls[index]["tool"] += function.get("name") or ""
                calls[index]["args"] += function.get("arguments") or ""
    if finish is None:
        raise Skip("cut off by the recorder")
    return chat_message(ident, name, finish, chat_usage(counted), thinking, text, refusal, [calls[i] for i in order], annotations)


def chat_message(ident, name, finish, counted, thinking, text, refusal, calls, annotations):
    parts = []
    if thinking:
        parts.append({"kind": "thinking", "text": thinking})
    if text or refusal:
        parts.append({"kind": "text", "text": (text or "") + (refusal or "")})
    if annotations:
        parts.append({"kind": "citations", "list": annotations})
    parts += [{"kind": "tool_call"} | call for call in calls]
    finish = {"stop": "stop", "eos": "stop", "tool_calls": "stop", "length": "length", "content_filter": "content_filter"}[finish]
    if refusal:
        finish = "refusal"
    elif finish == "stop" and calls:
        finish = "tool_calls"
    return {"id": ident or "", "model": name or "", "finish": finish, "usage": counted, "parts": parts}


def chat_usage(given):
    # What was written is what was charged beside the prompt, whether or not a provider counts its reasoning as completion.
    read = number(given, "prompt_tokens")
    written = number(given, "total_tokens") - read if number(given, "total_tokens") else number(given, "completion_tokens")
    cached = (
        number(given, "prompt_tokens_details", "cached_tokens") or number(given, "prompt_cache_hit_tokens")
        or number(given, "num_cached_tokens") or number(given, "cached_tokens")
    )
    return usage(given, read, written, cached, 0, number(given, "completion_tokens_details", "reasoning_tokens"))


# OpenAI's Responses.


def response(body):
    if body.get("error") or body["status"] not in ("completed", "incomplete"):
        raise Skip("a response that failed, with status 200")
    parts, calls, refused = [], False, False
    for item in body["output"]:
        kind = item["type"]
        if kind == "message":
            text = "".join(c.get("text", "") + c.get("refusal", "") for c in item["content"])
            refused = refused or any(c["type"] == "refusal" for c in item["content"])
            if text:
                parts.append({"kind": "text", "text": text, "phase": item.get("phase") or ""})
            notes = [a for c in item["content"] for a in c.get("annotations") or []]
            if notes:
                parts.append({"kind": "citations", "list": notes})
        elif kind == "reasoning":
            parts += reasoning(item)
        elif kind == "function_call":
            calls = True
            parts.append({
                "kind": "tool_call", "id": item["call_id"], "tool": item["name"], "args": item["arguments"],
                "extra": {"namespace": item["namespace"]} if item.get("namespace") else None,
            })
        elif kind == "image_generation_call" and item.get("result"):
            parts.append({
                "kind": "media", "media_type": "image/" + (item.get("output_format") or "png"), "data": item["result"], "id": item["id"],
            })
        else:
            parts.append({"kind": "block", "json": item, "id": item.get("id") or ""})
    if body["status"] == "incomplete":
        finish = {"max_output_tokens": "length", "content_filter": "content_filter"}[body["incomplete_details"]["reason"]]
    else:
        finish = "refusal" if refused else "tool_calls" if calls else "stop"
    given = body.get("usage")
    counted = usage(
        given, number(given, "input_tokens"), number(given, "total_tokens") - number(given, "input_tokens"),
        number(given, "input_tokens_details", "cached_tokens"), number(given, "input_tokens_details", "cache_write_tokens"),
        number(given, "output_tokens_details", "reasoning_tokens"),
    )
    return {"id": body["id"], "model": body["model"], "finish": finish, "usage": counted, "parts": parts}


def reasoning(item):
    """Summaries, or the reasoning itself; an item with neither, and without encrypted content, cannot be sent again."""
    thoughts = [s["text"] for s in item.get("summary") or []]
    raw = item.get("content") or []
    parts = [{"kind": "thinking", "text": t, "id": item["id"]} for t in thoughts + [c["text"] for c in raw]]
    if raw:
        item = {name: value for name, value in item.items() if name != "status"}
        return parts + [{"kind": "block", "json": item, "id": item["id"]}]
    if item.get("encrypted_content"):
        if not parts:
            parts = [{"kind": "thinking", "text": "", "id": item["id"]}]
        parts[0]["signature"] = item["encrypted_content"]
    return parts


def response_stream(stream):
    items, last = {}, None
    for event in stream:
        if event["type"] == "response.output_item.done":
            items[event["output_index"]] = event["item"]
        if event["type"] in ("response.completed", "response.incomplete", "response.failed"):
            last = event["response"]
    if last is None:
        raise Skip("cut off by the recorder")
    if not last["output"]:  # some endpoints say it once only
        last = last | {"output": [items[i] for i in sorted(items)]}
    return response(last)


# Anthropic's Messages.


def anthropic(body):
    parts = []
    for block in body["content"]:
        kind = block["type"]
        if kind == "text":
            if block["text"]:
                parts.append({"kind": "text", "text": block["text"]})
                if block.get("citations"):
                    parts.append({"kind": "citations", "list": block["citations"]})
        elif kind == "thinking":
            parts.append({"kind": "thinking", "text": block["thinking"], "signature": block["signature"]})
        elif kind == "tool_use":
            extra = {n: v for n, v in block.items() if n not in ("type", "id", "name", "input", "written")}
            part = {"kind": "tool_call", "id": block["id"], "tool": block["name"], "extra": extra or None}
            if block.get("written"):
                part["args"] = block["written"]
            else:
                part["args_json"] = block["input"]
            parts.append(part)
        else:
            parts.append({"kind": "block", "json": block})
    finish = {
        "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "refusal",
        "compaction": "other",
    }[body["stop_reason"]]
    return {
        "id": body["id"], "model": body["model"], "finish": finish, "usage": anthropic_usage(body.get("usage")), "parts": parts,
    }


def anthropic_usage(given):
    """The counts leave out what went through the cache, and the passes in which the API compacts the conversation."""
    passes = [given or {}] + [p for p in number(given, "iterations") or [] if p["type"] != "message"]
    total = {name: sum(number(p, name) for p in passes) for name in (
        "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")}
    cached, stored = total["cache_read_input_tokens"], total["cache_creation_input_tokens"]
    return usage(
        given, total["input_tokens"] + cached + stored, total["output_tokens"], cached, stored,
        number(given, "output_tokens_details", "thinking_tokens"),
    )


def anthropic_stream(stream):
    message, blocks, ended = None, {}, False
    for event in stream:
        kind = event["type"]
        if kind == "message_start":
            message = event["message"]
        elif kind == "content_block_start":
            blocks[event["index"]] = event["content_block"] | {"written": ""}
        elif kind == "content_block_delta":
            grow(blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            message["stop_reason"] = event["delta"].get("stop_reason") or message["stop_reason"]
            message["usage"] |= {n: v for n, v in (event.get("usage") or {}).items() if v is not None}
        elif kind == "message_stop":
            ended = True
    if not ended:
        raise Skip("cut off by the recorder")
    message["content"] = [finished(blocks[i]) for i in sorted(blocks)]
    return anthropic(message)


def grow(block, delta):
    kind = delta["type"]
    if kind == "input_json_delta":
        block["written"] += delta["partial_json"]
    elif kind == "citations_delta":
        block["citations"] = (block.get("citations") or []) + [delta["citation"]]
    else:  # text_delta, thinking_delta, signature_delta, compaction_delta: a member of the block
        for name, value in delta.items():
            if name != "type" and value is not None:
                block[name] = (block.get(name) or "") + value


def finished(block):
    """The block without what decoding added, unless that is how the arguments of a call were written."""
    written = block["written"]
    if block["type"] == "tool_use" and written:
        return block
    block = {name: value for name, value in block.items() if name != "written"}
    return block | {"input": json.loads(written)} if written else block


# Gemini's generateContent.


def gemini(body):
    return gemini_stream([body])


def gemini_stream(chunks):
    ident, name, finish, counted, parts = "", "", None, {}, []
    calls, notes = False, {}
    for chunk in chunks:
        ident, name = chunk.get("responseId", ident), chunk.get("modelVersion", name)
        counted |= chunk.get("usageMetadata") or {}
        for candidate in chunk.get("candidates", [])[:1]:
            finish = candidate.get("finishReason") or finish
            for of in ("groundingMetadata", "citationMetadata", "urlContextMetadata"):
                if candidate.get(of):
                    notes[of] = candidate[of]
            for part in candidate.get("content", {}).get("parts", []):
                calls = calls or "functionCall" in part
                gemini_part(parts, part)
    if finish is None:
        raise Skip("cut off by the recorder")
    for part in parts:
        part.pop("closed", None)
    if notes:
        parts.append({"kind": "citations", "list": [notes]})
    finish = {"STOP": "tool_calls" if calls else "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}[finish]
    read = number(counted, "promptTokenCount") + number(counted, "toolUsePromptTokenCount")
    written = number(counted, "totalTokenCount") - read
    if "totalTokenCount" not in counted:
        written = number(counted, "candidatesTokenCount") + number(counted, "thoughtsTokenCount")
    spent = usage(counted, read, written, number(counted, "cachedContentTokenCount"), 0, number(counted, "thoughtsTokenCount"))
    return {"id": ident, "model": name, "finish": finish, "usage": spent, "parts": parts}


def gemini_part(parts, part):
    signature = part.get("thoughtSignature")
    if "functionCall" in part:
        call = part["functionCall"]
        parts.append({
            "kind": "tool_call", "id": call.get("id") or "", "tool": call["name"], "args_json": call.get("args"), "signature": signature or "",
        })
    elif "text" in part:
        kind = "thinking" if part.get("thought") else "text"
        if not part["text"] and not signature:
            return
        if not part["text"] and kind == "text":
            parts.append({"kind": "block", "json": part})
            return
        last = parts[-1] if parts else {}
        # A signature is for the part that it came with: such a text is not joined to the one before.
        joins = last.get("kind") == kind and not last.get("closed") and (kind == "thinking" or not signature)
        if joins:
            last["text"] += part["text"]
        else:
            parts.append({"kind": kind, "text": part["text"]})
        if signature:
            parts[-1]["closed"] = True
            if kind == "thinking":
                parts[-1]["signature"] = signature
            else:
                parts.append({"kind": "signature", "signature": signature})
    elif "inlineData" in part:
        blob = part["inlineData"]
        parts.append({"kind": "media", "media_type": blob["mimeType"], "data": blob["data"], "id": ""})
    else:
        parts.append({"kind": "block", "json": part})
