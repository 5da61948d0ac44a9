// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { API, APIError } from "../src/client/api.ts";
import { ending, Fold, textOf } from "../src/client/fold.ts";
import { EventParser, type ServerEvent } from "../src/client/sse.ts";

const message = (id: string, text: string) => ({ op: "upsert" as const, id, entity: { id, kind: "message" as const, content: [{ kind: "text" as const, text }] } });

test("changes are folded in order", () => {
  const f = new Fold();
  f.update({ position: "1", changes: [message("a", "one "), { op: "append", id: "a", text: "two" }, message("b", "x"), message("a", "three")] });
  f.apply({ op: "append", id: "a", text: "!", content: [{ kind: "image" }] });
  f.apply({ op: "append", id: "a", text: "?" });
  const s = f.snapshot();
  assert.deepEqual(s.entities.map((e) => e.id), ["a", "b"]);
  assert.equal(textOf(s.get("a")!), "three!?");
  assert.equal(s.get("a")!.content!.length, 3);
});

test("entities and snapshots do not change once they were given out", () => {
  const f = new Fold();
  f.apply(message("a", "one"));
  f.apply(message("b", "two"));
  const before = f.snapshot(), b = before.get("b");
  f.apply({ op: "append", id: "a", text: " more" });
  assert.equal(textOf(before.get("a")!), "one");
  assert.notEqual(f.snapshot(), before);
  assert.equal(f.snapshot().get("b"), b, "what has not changed is the same object");
  assert.equal(f.snapshot(), f.snapshot());
});

test("an entity that was removed comes back at the end", () => {
  const f = new Fold();
  for (const c of [message("a", "1"), message("b", "2"), { op: "remove" as const, id: "a" }, message("a", "3")]) f.apply(c);
  assert.deepEqual(f.snapshot().entities.map((e) => e.id), ["b", "a"]);
});

test("malformed changes change nothing", () => {
  const f = new Fold();
  f.apply(message("a", "1"));
  const before = f.snapshot();
  for (const c of [{ op: "append", id: "x", text: "1" }, { op: "remove", id: "x" }, { op: "upsert", id: "x" }, { op: "twist", id: "a" }, { op: "upsert", id: "" }, null]) {
    assert.equal(f.apply(c as never), false);
  }
  assert.equal(f.apply({ op: "append", id: "a" }), true);
  assert.equal(f.snapshot(), before);
  f.apply(message("__proto__", "safe"));
  assert.equal(textOf(f.snapshot().get("__proto__")!), "safe");
});

test("a reset clears what was there", () => {
  const f = new Fold();
  f.apply(message("a", "1"));
  f.update({ position: "2", reset: true, changes: [message("b", "2")] });
  assert.deepEqual(f.snapshot().entities.map((e) => e.id), ["b"]);
});

const stream = "\ufeff: comment\r\nevent: update\r\nid: 1.2\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\rdata\r\rid: \nevent: gone\n\ndata: last\n\ndata: cut";

test("events are parsed wherever the stream is cut", () => {
  const parse = (pieces: string[]) => {
    const all: ServerEvent[] = [];
    const p = new EventParser((e) => all.push(e));
    for (const piece of pieces) p.feed(piece);
    return all;
  };
  const want = [
    { event: "update", data: "{\"a\":\n1}", id: "1.2" },
    { event: "message", data: "x\n", id: "1.2" },
    { event: "message", data: "last", id: "" },
  ];
  assert.deepEqual(parse([stream]), want);
  assert.deepEqual(parse([...stream]), want);
  for (let i = 0; i < stream.length; i++) assert.deepEqual(parse([stream.slice(0, i), stream.slice(i)]), want, "cut at " + i);
});

test("requests are JSON, and errors say what the server said", async () => {
  const asked: [string, RequestInit][] = [];
  let answer = () => new Response(null, { status: 204 });
  const api = new API("http://x/api/", (async (url: string, init: RequestInit) => {
    asked.push([url, init]);
    return answer();
  }) as unknown as typeof fetch);
  await api.answer("s/1", { id: "question:r/2/c?", digest: "d1" }, { choice: "allow_once" });
  assert.equal(asked[0]![0], "http://x/api/sessions/s%2F1/questions/question%3Ar%2F2%2Fc%3F");
  assert.equal(asked[0]![1].body, '{"digest":"d1","choice":"allow_once"}', "it says what was shown");
  for (const call of [() => api.cancel("s"), () => api.remove("s"), () => api.set("s", "mode", "ask"), () => api.fork("s", "prompt:1")]) await call();
  for (const [, init] of asked) assert.equal((init.headers as Record<string, string>)["Content-Type"], "application/json");
  answer = () => Response.json({ error: { kind: "busy", message: "A turn is running." } }, { status: 409 });
  await assert.rejects(api.prompt("s", [{ text: "x" }], "refuse"), (err: APIError) => err.status === 409 && err.kind === "busy" && err.message === "A turn is running.");
  answer = () => new Response("<html>", { status: 502 });
  await assert.rejects(api.config(), /The server answered 502/);
  answer = () => {
    throw new TypeError("network");
  };
  await assert.rejects(api.config(), (err: APIError) => err.status === 0);
});

test("an answer that is not whole says why", () => {
  for (const s of ["stopped", "cut_off", "failed", "interrupted"]) assert.notEqual(ending(s), "", s);
  for (const s of [undefined, "", "completed", "in_progress"]) assert.equal(ending(s), "");
});
