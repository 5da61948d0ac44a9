# SPDX-License-Identifier: Apache-2.0
"""Runs a dataset file through pydantic-evals, with scripted models, and prints the scores as JSON."""

import json
import sys
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, RetryPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_evals import Dataset
from pydantic_evals.evaluators.llm_as_a_judge import set_default_judge_model

trace.set_tracer_provider(TracerProvider())
Agent.instrument_all()

OUTPUTS = {
    "text": "The answer is 42.", "number": 42, "yes": True, "list": [1, "two", [3], None],
    "object": {"a": 1, "b": {"c": [True, False]}}, "nothing": None,
}


def shop(messages, info):
    prompt = messages[0].parts[-1].content
    wanted = [x for x in prompt.split(",") if x]
    done = sum(1 for m in messages for p in m.parts if isinstance(p, (ToolReturnPart, RetryPromptPart)))
    if done < len(wanted):
        name = wanted[done].rstrip("!")
        return ModelResponse(parts=[ToolCallPart(name, {"n": done}, tool_call_id=str(done))])
    return ModelResponse(parts=[TextPart("done")])


agent = Agent(FunctionModel(shop), retries=5)


def tool(name):
    def fn(n: int) -> str:
        if name == "refund":
            raise ModelRetry("no")
        return name

    fn.__name__ = name
    return fn


for name in ["find", "price", "stock", "refund"]:
    agent.tool_plain(tool(name))


async def task(inputs: str) -> Any:
    if inputs in OUTPUTS:
        return OUTPUTS[inputs]
    return (await agent.run(inputs or ",")).output


def judge(messages, info):
    text = json.dumps([str(p.content) for m in messages for p in m.parts if hasattr(p, "content")])
    schema = info.output_tools[0].parameters_json_schema["properties"]
    args = {"reason": "because"}
    if "pass" in schema:
        args["pass"] = "It has a number." in text
        args["score"] = 0.25
    else:
        args["score"] = 4
    return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, args)])


set_default_judge_model(FunctionModel(judge))
dataset = Dataset[str, Any, Any].from_file(sys.argv[1])
report = dataset.evaluate_sync(task, progress=False)
result = {}
for c in report.cases:
    all_scores = {}
    for group in (c.scores, c.labels, c.assertions):
        for name, r in group.items():
            all_scores[name] = r.value
    if c.evaluator_failures:
        raise SystemExit(f"{c.name}: {c.evaluator_failures}")
    result[c.name] = all_scores
for f in report.failures:
    raise SystemExit(f"{f.name}: {f.error_message}")
json.dump(result, sys.stdout, indent=1)
