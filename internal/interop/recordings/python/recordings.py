# SPDX-License-Identifier: Apache-2.0
"""Print every recorded HTTP exchange in a directory of source archives, one JSON object a line.

Each line says what the recording is ("protocol", or why it is skipped), holds the answer as it was recorded, and what an answer
like that means ("want", see decode.py).
"""

import base64
import gzip
import json
import pathlib
import sys
import tarfile
from urllib.parse import urlsplit

import yaml

import decode

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Who answers at a host.
PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.together.xyz": "together",
    "generativelanguage.googleapis.com": "google",
    "localhost:8000": "vllm",
    "localhost:5002": "proxy",
}

# Recordings of what Ponte does not speak, by the path of the request.
OTHER_PATHS = [
    ("/embeddings", "embeddings"),
    (":batchEmbedContents", "embeddings"),
    ("/images/generations", "image generation API"),
    ("/v1/completions", "legacy text completions"),
    ("/v1/complete", "legacy text completions"),
    ("/assistants", "Assistants API"),
    ("/threads", "Assistants API"),
    ("/v2/chat", "Cohere's own chat API"),
    ("/interactions", "Gemini's Interactions API"),
    ("/cachedContents", "not a model's answer"),
]

# Recordings that are no answers of models, by host.
OTHER_HOSTS = {
    "api.smith.langchain.com": "not a model's answer",
    "api.tavily.com": "not a model's answer",
    "upload.wikimedia.org": "not a model's answer",
    "w8qtunpthvh1r7a0.us-east-1.aws.endpoints.huggingface.cloud": "legacy text completions",
}


def exchanges(archive):
    """Yield (file, index, request, response) for the recordings of a source archive."""
    with tarfile.open(archive) as tar:
        members = sorted((m for m in tar.getmembers() if m.isfile() and "cassettes" in m.name), key=lambda m: m.name)
        for member in members:
            if not member.name.endswith((".yaml", ".yaml.gz")):
                continue
            data = tar.extractfile(member).read()
            if member.name.endswith(".gz"):
                data = gzip.decompress(data)
            tape = yaml.load(data, Loader=LOADER)
            if "interactions" in tape:
                pairs = [(i["request"], i["response"]) for i in tape["interactions"]]
            else:
                pairs = list(zip(tape["requests"], tape["responses"], strict=True))
            for index, (request, response) in enumerate(pairs):
                yield member.name, index, request, response


def as_bytes(value):
    if value is None:
        return b""
    return value if isinstance(value, bytes) else value.encode()


def headers_of(response):
    """The recorded headers by lower-case name, without those that the recorder blanked."""
    headers = {}
    for name, value in (response.get("headers") or {}).items():
        value = value[0] if isinstance(value, list) else value
        if "REDACTED" not in str(value):
            headers[name.lower()] = str(value)
    return headers


def classify(url, asked, status, body):
    """Return (protocol, provider, why not) for an exchange; protocol is None if it is skipped. asked is the request's body."""
    parts = urlsplit(url)
    host, path = parts.netloc, parts.path
    provider = PROVIDERS.get(host, "azure" if host.endswith(".openai.azure.com") else None)
    if host in OTHER_HOSTS:
        return None, provider, OTHER_HOSTS[host]
    if host.startswith("bedrock-runtime."):
        # Bedrock carries Anthropic's messages as they are; the other formats, and its streams, are its own.
        if "anthropic.claude" in path and path.endswith("/invoke") and body.lstrip().startswith(b"{"):
            if json.loads(body).get("type") == "message":
                return "anthropic", "bedrock", None
        return None, provider, "Bedrock's own formats"
    if status >= 400 and provider in ("openai", "azure"):
        return "chat", provider, None  # an error is of one shape at all paths
    for ending, why in OTHER_PATHS:
        if ending in path:
            return None, provider, why
    if path.endswith("/chat/completions"):
        return "chat", provider, None
    if path.endswith("/responses"):
        return "responses", provider, None
    if path.endswith("/v1/messages"):
        return "anthropic", provider, None
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return "gemini", provider, None
    if path.endswith("/traces/ingest"):
        return None, provider, "not a model's answer"
    if url == "**REDACTED**":
        return classify_by_shape(body) if asked else (None, None, "not a model's answer")
    return None, provider, "unknown"


def classify_by_shape(body):
    """Classify an exchange whose URL the recorder blanked."""
    start = body.lstrip()[:400]
    if start.startswith(b"event: response."):
        return "responses", "openai", None
    if start.startswith(b"event: message_start"):
        return "anthropic", "anthropic", None
    if start.startswith(b"data:"):
        if b'"chat.completion.chunk"' in start:
            return "chat", "openai", None
    if start.startswith(b"{"):
        answer = json.loads(body)
        if answer.get("object") == "response" or "detail" in answer:
            return "responses", "openai", None
        if answer.get("object") == "chat.completion":
            return "chat", "openai", None
        if answer.get("type") == "message":
            return "anthropic", "anthropic", None
        if answer.get("object") == "list":
            return None, None, "embeddings"
        if "batch_ingest_config" in answer or "message" in answer:
            return None, None, "not a model's answer"  # LangSmith's
    return None, None, "unknown"


def record(archive, name, index, request, response):
    headers = headers_of(response)
    sent = as_bytes(response["body"]["string"])  # with the encoding that it came in, if the recorder kept that
    plain = gzip.decompress(sent) if sent[:2] == b"\x1f\x8b" else sent
    status = response["status"]
    status = status["code"] if isinstance(status, dict) else status
    protocol, provider, why = classify(request["uri"], request.get("body"), status, plain)
    line = {
        "package": archive.name.rsplit("-", 1)[0].replace("_", "-"),
        "cassette": name.split("cassettes/", 1)[-1],
        "index": index,
        "provider": provider or "",
        "protocol": protocol or "",
        "skip": why or "",
    }
    if protocol is None:
        return line
    try:
        want = decode.answer(protocol, status, plain)
    except decode.Skip as skip:
        line["protocol"], line["skip"] = "", str(skip)
        return line
    line |= {
        "status": status,
        "content_type": headers.get("content-type", ""),
        "gzip": plain is not sent,
        "streamed": decode.is_stream(plain),
        "body": base64.b64encode(sent).decode(),
        "want": want,
    }
    return line


def main(directory):
    for archive in sorted(pathlib.Path(directory).glob("*.tar.gz")):
        for name, index, request, response in exchanges(archive):
            print(json.dumps(record(archive, name, index, request, response)))


if __name__ == "__main__":
    main(sys.argv[1])
