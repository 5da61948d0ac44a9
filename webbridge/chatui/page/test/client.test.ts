// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { API, APIError } from "../src/client/api.ts";
import { ending, Fold, textOf } from "../src/client/fold.ts";
import { EventParser, type ServerEvent } from "../src/client/sse.ts";
import { LONGEST, LOOKS, QUIET, backOff, SILENCE, Watch, type Clock } from "../src/client/watch.ts";

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

/** A clock that the test moves. */
class TestClock implements Clock {
  timers = new Map<number, { f: () => void; ms: number }>();
  #n = 0;
  set(f: () => void, ms: number) {
    this.timers.set(++this.#n, { f, ms });
    return this.#n;
  }
  clear(timer: unknown) {
    this.timers.delete(timer as number);
  }
  random = () => 0;
  /** The timer that is not the watch over silence. */
  retry = () => [...this.timers.values()].find((t) => t.ms !== SILENCE);
}

/** A server whose streams the test writes. */
class TestServer {
  from: string[] = [];
  writers: ReadableStreamDefaultController<Uint8Array>[] = [];
  aborted = 0;
  refuse: Error | undefined;
  events = async (_: string, from: string, signal: AbortSignal) => {
    this.from.push(from);
    if (this.refuse) throw this.refuse;
    return new Response(new ReadableStream({
      start: (c) => {
        this.writers.push(c);
        signal.addEventListener("abort", () => {
          this.aborted++;
          try {
            c.error(signal.reason);
          } catch {
            // it has ended
          }
        });
      },
    }));
  };
  write(text: string) {
    this.writers.at(-1)!.enqueue(new TextEncoder().encode(text));
  }
  update(position: string, ...changes: object[]) {
    this.write(`event: update\nid: ${position}\ndata: ${JSON.stringify({ position, changes })}\n\n`);
  }
}

async function until(f: () => unknown) {
  for (let i = 0; i < 10_000; i++) {
    if (f()) return;
    await new Promise((r) => setImmediate(r));
  }
  assert.fail("never");
}

test("a watch goes on at the position of the last update", async () => {
  const server = new TestServer(), clock = new TestClock();
  const w = new Watch(server, "s", clock);
  await until(() => server.writers.length === 1);
  server.update("e.1", message("a", "one"));
  await until(() => w.state().snapshot.get("a"));
  assert.equal(w.state().link, "live");
  server.writers[0]!.close();
  await until(() => clock.retry());
  assert.equal(w.state().link, "lost");
  assert.ok(w.state().snapshot.get("a"), "what was there stays");
  clock.retry()!.f();
  await until(() => server.writers.length === 2);
  server.update("e.2", { op: "append", id: "a", text: " two" });
  await until(() => textOf(w.state().snapshot.get("a")!) === "one two");
  assert.deepEqual(server.from, ["", "e.1"]);
  w.close();
});

test("a part of a large update is not gone on from", async () => {
  const server = new TestServer(), clock = new TestClock();
  const w = new Watch(server, "s", clock);
  await until(() => server.writers.length === 1);
  server.write(`event: update\ndata: ${JSON.stringify({ position: "e.9", changes: [message("a", "one")] })}\n\n`);
  await until(() => w.state().snapshot.get("a"));
  server.writers[0]!.close();
  await until(() => clock.retry());
  clock.retry()!.f();
  await until(() => server.from.length === 2);
  assert.equal(server.from[1], "");
  server.update("e.9", message("b", "two"));
  await until(() => w.state().snapshot.get("b"));
  assert.equal(w.state().snapshot.get("a"), undefined, "it was removed meanwhile");
  w.close();
});

test("attempts are further and further apart, and near again once something came", async () => {
  const server = new TestServer(), clock = new TestClock();
  server.refuse = new APIError(0, "unreachable", "no");
  const w = new Watch(server, "s", clock);
  const waits: number[] = [];
  for (let i = 0; i < 7; i++) {
    await until(() => clock.retry());
    waits.push(clock.retry()!.ms);
    clock.retry()!.f();
    await until(() => server.from.length === i + 2);
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 15000, 15000]);
  assert.ok(backOff(3, 1) === backOff(3, 0) / 2);
  server.refuse = undefined;
  await until(() => clock.retry());
  clock.retry()!.f();
  await until(() => server.writers.length === 1);
  server.update("e.1", message("a", "x"));
  await until(() => w.state().snapshot.get("a"));
  server.writers[0]!.close();
  await until(() => clock.retry());
  assert.equal(clock.retry()!.ms, 500);
  w.close();
});

test("a stream that is silent is taken for lost", async () => {
  const server = new TestServer(), clock = new TestClock();
  const w = new Watch(server, "s", clock);
  await until(() => [...clock.timers.values()].some((t) => t.ms === SILENCE));
  [...clock.timers.values()].find((t) => t.ms === SILENCE)!.f();
  await until(() => clock.retry());
  assert.equal(server.aborted, 1);
  assert.equal(w.state().link, "lost");
  w.close();
});

test("a watch that nobody sees has no stream, and goes on where it was", async () => {
  const server = new TestServer(), clock = new TestClock();
  const w = new Watch(server, "s", clock);
  await until(() => server.writers.length === 1);
  server.update("e.1", message("a", "one"));
  await until(() => w.state().snapshot.get("a"));
  w.follow("never");
  await until(() => server.aborted === 1 && clock.timers.size === 0);
  w.retry();
  await new Promise((r) => setTimeout(r, 5));
  assert.equal(server.from.length, 1, "nothing wakes it");
  assert.equal(w.state().link, "live", "and nothing is wrong");
  w.follow("always");
  await until(() => server.from.length === 2);
  assert.equal(server.from[1], "e.1");
  server.update("e.2", { op: "append", id: "a", text: " two" });
  await until(() => textOf(w.state().snapshot.get("a")!) === "one two");
  w.close();
});

test("a watch that leaves its connection to others looks now and then", async () => {
  const server = new TestServer(), clock = new TestClock();
  const timer = (ms: number) => [...clock.timers.values()].find((t) => t.ms === ms);
  const w = new Watch(server, "s", clock);
  await until(() => server.writers.length === 1);
  w.follow("now and then");
  server.update("e.1", message("a", "one"));
  await until(() => w.state().snapshot.get("a"));
  assert.equal(server.aborted, 0, "what was not loaded is loaded first");
  await until(() => timer(QUIET));
  timer(QUIET)!.f();
  await until(() => timer(LOOKS));
  assert.equal(server.aborted, 1);
  assert.equal(w.state().link, "live");
  timer(LOOKS)!.f();
  await until(() => server.writers.length === 2 && timer(QUIET));
  assert.equal(server.from[1], "e.1");
  server.update("e.2", { op: "append", id: "a", text: " two" });
  await until(() => textOf(w.state().snapshot.get("a")!) === "one two");
  timer(LONGEST)!.f(); // it would go on for ever
  await until(() => timer(LOOKS));
  assert.equal(server.aborted, 2);
  w.follow("always");
  await until(() => server.writers.length === 3 && timer(SILENCE));
  assert.deepEqual(server.from, ["", "e.1", "e.2"]);
  assert.equal(timer(QUIET), undefined);
  w.close();
});

test("the end of a stream says why", async () => {
  const server = new TestServer(), clock = new TestClock();
  const w = new Watch(server, "s", clock);
  await until(() => server.writers.length === 1);
  server.write('event: end\ndata: {"error":{"kind":"held","message":"the session is open elsewhere"}}\n\n');
  await until(() => w.state().problem === "the session is open elsewhere");
  w.close();
});

test("a watch gives up where trying again does not help", async () => {
  for (const [status, link] of [[401, "denied"], [404, "closed"], [403, "denied"]] as const) {
    const server = new TestServer(), clock = new TestClock();
    server.refuse = new APIError(status, "", "no");
    const w = new Watch(server, "s", clock);
    await until(() => w.state().link === link);
    assert.equal(clock.timers.size, 0);
    w.close();
  }
});

test("the server says whether a turn is running", async () => {
  const server = new TestServer(), clock = new TestClock();
  const w = new Watch(server, "s", clock);
  await until(() => server.writers.length === 1);
  server.update("e.1", { op: "upsert", id: "c", entity: { id: "c", kind: "tool_call", status: "in_progress" } });
  await until(() => w.state().running);
  server.write('event: state\ndata: {"running":false}\n\n');
  await until(() => !w.state().running);
  server.write("event: state\ndata: nonsense\n\nevent: other\ndata: {}\n\nevent: state\ndata: {\"running\":true}\n\n");
  await until(() => w.state().running);
  w.close();
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
