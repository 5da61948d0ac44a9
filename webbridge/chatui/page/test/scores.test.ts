// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { API } from "../src/client/api.ts";
import { about, answers, type Score } from "../src/client/scores.ts";
import type { Entity } from "../src/client/types.ts";

const message = (id: string, role: "user" | "assistant"): Entity => ({ id, kind: "message", role });

test("the last message of each turn that has ended is its answer", () => {
  const items: Entity[] = [
    message("message:0/1", "assistant"), message("prompt:a", "user"), message("message:a/1", "assistant"), { id: "call:a/1/x", kind: "tool_call" },
    message("said:a/1", "user"), message("output:a/2", "assistant"), message("prompt:b", "user"), message("prompt:c", "user"), message("message:c/1", "assistant"),
  ];
  assert.deepEqual([...answers(items, true)], [["output:a/2", "prompt:a"]]);
  assert.deepEqual([...answers(items, false)], [["output:a/2", "prompt:a"], ["message:c/1", "prompt:c"]]);
});

test("the user's own mark is told apart from the scores of others", () => {
  const score = (prompt: string, mine: boolean, name: string): Score => ({ prompt, mine, by: "x", mark: mine, name, value: 1 });
  const all = [score("prompt:a", false, "polite"), score("prompt:b", true, "people"), score("prompt:a", true, "people"), score("prompt:a", false, "people")];
  assert.deepEqual(about(all, "prompt:a"), { mine: all[2], others: [all[0], all[3]] });
  assert.deepEqual(about(all, "prompt:x"), { mine: undefined, others: [] });
});

test("a mark names its prompt", async () => {
  const asked: unknown[] = [];
  const api = new API("api/", (async (url: string, init: RequestInit) => (asked.push([init.method, url, init.body]), new Response(null, { status: 204 }))) as typeof fetch);
  await api.mark("s", "prompt:a%2Fb", false, "it lied");
  assert.deepEqual(asked, [["PUT", "api/sessions/s/scores/prompt%3Aa%252Fb", '{"good":false,"reason":"it lied"}']]);
});
