# SPDX-License-Identifier: Apache-2.0
"""Writes the prices of genai-prices as lines of JSON: the package's own data, without what does not concern the price of tokens.

Arguments: the directory with the unpacked wheel. The package's types are replaced by plain ones, so that nothing else is needed.
"""

import datetime
import json
import re
import sys
import types

root = sys.argv[1]
text = open(root + "/genai_prices/data.py", encoding="utf-8").read()


def kind(name):
    def init(self, **fields):
        self.__dict__.update(fields)

    return type(name, (), {"__init__": init})


NAMES = set(re.findall(r"\b([A-Z][A-Za-z]+)\(", text)) - {"Decimal"}
stub = types.ModuleType("genai_prices.types")
stub.__dict__.update({name: kind(name) for name in NAMES | {"Provider"}})
stub.__all__ = sorted(NAMES | {"Provider"})
data = types.ModuleType("genai_prices.data")
data.__package__ = "genai_prices"
sys.modules.update({"genai_prices": types.ModuleType("genai_prices"), "genai_prices.types": stub})
exec(compile(text, "data.py", "exec"), data.__dict__)


def number(value):
    value = float(value)
    return int(value) if value == int(value) else value


def clause(c):
    """A string is equal to it, a list is any of it, an object is the one kind that it names."""
    name = type(c).__name__
    if name == "ClauseEquals":
        return c.equals.lower()
    if name == "ClauseOr":
        return [clause(x) for x in c.or_]
    if name == "ClauseAnd":
        return {"and": [clause(x) for x in c.and_]}
    if name == "ClauseRegex":
        # Go has no lookahead: what must not follow the beginning becomes a clause of its own.
        ahead = re.match(r"\^\(\?!((?:[^()]|\([^()]*\))*)\)", c.regex)
        if ahead:
            rest = "^" + c.regex[ahead.end():]
            return {"and": [{"not": {"regex": "^(?:" + ahead[1] + ")"}}, {"regex": rest}]}
        return {"regex": c.regex}
    for key in ("starts_with", "ends_with", "contains"):
        if hasattr(c, key):
            return {key: getattr(c, key).lower()}
    raise ValueError(name)


TOKENS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached_input",
    "cache_write_mtok": "cache_write",
    "output_reasoning_mtok": "reasoning",
}


def price(p):
    """A price as model.Price has it, or None if it is not one of tokens or requests."""
    fields = {k: v for k, v in p.__dict__.items() if v is not None}
    out = {}
    starts = sorted({t.start for v in fields.values() if type(v).__name__ == "TieredPrices" for t in v.tiers})

    def at(value, tokens):
        if type(value).__name__ != "TieredPrices":
            return value
        best = value.base
        for tier in sorted(value.tiers, key=lambda t: t.start):
            if tokens > tier.start:
                best = tier.price
        return best

    def tokens(n):
        found = {}
        for key, name in TOKENS.items():
            if key in fields:
                value = number(at(fields[key], n))
                # 0 would mean that it costs what other input, or output, does.
                if value == 0 and name not in ("input", "output"):
                    parent = "output_mtok" if name == "reasoning" else "input_mtok"
                    assert number(at(fields.get(parent, 0), n)) == 0, fields
                    continue
                found[name] = value
        return found

    out = tokens(0)
    if "requests_kcount" in fields:
        out["request"] = number(fields["requests_kcount"]) / 1000
    if fields and not out:
        return None
    tiers = [{"above": s, **tokens(s + 1)} for s in starts]
    if any({k: v for k, v in t.items() if k != "above"} != tokens(0) for t in tiers):
        out["tiers"] = tiers
    return out


def utc(t):
    if t.tzinfo is not None:
        t = datetime.datetime.combine(datetime.date(2000, 1, 1), t).astimezone(datetime.timezone.utc).time()
    return t.strftime("%H:%M:%S")


def conditional(prices):
    if type(prices).__name__ == "ModelPrice":
        return [price(prices)]
    out = []
    for c in prices:
        p = price(c.prices)
        limit = getattr(c, "constraint", None)
        when = {}
        if type(limit).__name__ == "StartDateConstraint":
            when = {"from": limit.start_date.isoformat()}
        elif type(limit).__name__ == "TimeOfDateConstraint":
            when = {"daily": [utc(limit.start_time), utc(limit.end_time)]}
        elif limit is not None:
            raise ValueError(limit)
        out.append({**when, "unknown": True} if p is None else {**when, **p})
    return out


def line(value):
    print(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


checked = max(re.findall(r"[Cc]hecked (?:on )?(20\d\d-\d\d-\d\d)", text))
line({"checked": checked})
for provider in data.providers:
    head = {"provider": provider.id}
    if getattr(provider, "provider_match", None):
        head["match"] = clause(provider.provider_match)
    if getattr(provider, "fallback_model_providers", None):
        head["fallback"] = provider.fallback_model_providers
    line(head)
    for model in provider.models:
        found = conditional(model.prices)
        line({"match": clause(model.match), "prices": [{"unknown": True} if p is None else p for p in found]})
