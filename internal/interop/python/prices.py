# SPDX-License-Identifier: Apache-2.0
"""Writes what genai-prices computes for random requests to all models that it knows, as lines of JSON.

Arguments: how many lines to keep, 0 for all. "cost" is null where the price is not known from tokens.
"""

import datetime
import json
import random
import sys

from genai_prices import Usage, calc_price, types
from genai_prices.data import providers

KEEP = int(sys.argv[1])
chance = random.Random(1)
TOKENS = {"input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "output_reasoning_mtok", "requests_kcount"}
PROVIDERS = {
    "xai": ["grok-4-20250101"],
    "bedrock": ["anthropic.claude-sonnet-4-20250514-v1:0", "us.amazon.nova-pro-v1:0"],
    "vertex": ["claude-sonnet-4-5@20250929", "gemini-2.5-pro"],
    "gemini": ["gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-pro-preview-tts"],
    "azure": ["gpt-4o", "claude-opus-4-1"],
    "openai": ["gpt-5-20250807", "no-such-model", "text-embedding-3-small", "GPT-4o"],
    " OpenAI ": ["gpt-4o"],
    "ollama": ["llama3"],
    "nobody": ["gpt-4o"],
    "openrouter": ["openai/gpt-5.2-20251211", "x-ai/grok-4.5-20260101"],
}


def names(clause):
    """Names that a clause, or a part of it, may match."""
    if isinstance(clause, types.ClauseEquals):
        yield clause.equals
        yield clause.equals.upper()
        yield clause.equals + "-20260101"
    elif isinstance(clause, types.ClauseStartsWith):
        yield clause.starts_with
        yield clause.starts_with + "-x"
    elif isinstance(clause, types.ClauseEndsWith):
        yield "x-" + clause.ends_with
    elif isinstance(clause, types.ClauseContains):
        yield "x-" + clause.contains + "-y"
    elif isinstance(clause, types.ClauseRegex):
        yield clause.regex.strip("^$").replace("\\d{8}", "20260102").replace("\\d{4}-\\d{2}-\\d{2}", "2026-01-02").replace("\\", "")
    for inner in getattr(clause, "or_", []) + getattr(clause, "and_", []):
        yield from names(inner)


def pairs():
    for provider, models in PROVIDERS.items():
        for model in models:
            yield provider, model
    for provider in providers:
        for model in provider.models:
            yield provider.id, model.id
            for name in names(model.match):
                yield provider.id, name


def moment():
    if chance.random() < 0.3:  # the edges of days, and of off-peak hours
        day = datetime.datetime(2026, chance.randint(1, 12), chance.randint(1, 28), tzinfo=datetime.UTC)
        return day + datetime.timedelta(minutes=chance.choice([0, 30, 16 * 60 + 30, 24 * 60 - 1]))
    return datetime.datetime.fromtimestamp(chance.randint(1704067200, 1830297600), datetime.UTC)


def usage():
    total = chance.choice([0, 1, 999, 50_000, 128_000, 200_000, 200_001, 272_001, 900_000])
    read, write = chance.randint(0, total // 2), chance.choice([0, total // 4])
    output = chance.choice([0, 1, 333, 64_000])
    return {
        "input_tokens": total,
        "output_tokens": output,
        "cache_read_tokens": read,
        "cache_write_tokens": write,
        "reasoning_tokens": chance.randint(0, output),
    }


def cost(provider, model, at, used):
    given = {**used, "output_reasoning_tokens": used["reasoning_tokens"]}
    del given["reasoning_tokens"]
    try:
        found = calc_price(Usage(**given), model, provider_id=provider, genai_request_timestamp=at)
    except LookupError:
        return None
    priced = {k for k, v in found.model_price.__dict__.items() if v is not None}
    if priced and not priced & TOKENS:
        return None
    return float(found.total_price)


lines = []
for provider, model in pairs():
    at, used = moment(), usage()
    lines.append({
        "provider": provider, "model": model, "at": at.isoformat(), "usage": used, "cost": cost(provider, model, at, used),
    })
if KEEP:
    lines = lines[:30] + chance.sample(lines[30:], KEEP - 30)
for line in lines:
    print(json.dumps(line))
