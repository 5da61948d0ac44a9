// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { APIError } from "../src/client/api.ts";
import { backOff, type Clock, LONGEST, SETTLE, SILENCE } from "../src/client/feed.ts";
import { textOf } from "../src/client/fold.ts";
import { merged } from "../src/client/list.ts";
import { type Channel, GONE, Tabs } from "../src/client/tabs.ts";
import type { SessionInfo } from "../src/client/types.ts";
import { PACE, Watch } from "../src/client/watch.ts";

/** A clock that the test moves. */
class TestClock implements Clock {
  #at = 0;
  #n = 0;
  #seed = 1;
  timers = new Map<number, { f: () => void; at: number; ms: number }>();
  set(f: () => void, ms: number) {
    this.timers.set(++this.#n, { f, at: this.#at + ms, ms });
    return this.#n;
  }
  clear(timer: unknown) {
    this.timers.delete(timer as number);
  }
  random = () => (this.#seed = (this.#seed * 16807) % 2147483647) / 2147483647;
  now = () => this.#at;
  tick = () => void this.#at++;
  /** Lets time pass, with whatever it causes. */
  async pass(ms: number) {
    const end = this.#at + ms;
    for (;;) {
      for (let i = 0; i < 20; i++) await new Promise((r) => setImmediate(r));
      const next = [...this.timers].sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (!next || next[1].at > end) break;
      this.#at = Math.max(this.#at, next[1].at);
      this.timers.delete(next[0]);
      next[1].f();
    }
    this.#at = end;
  }
}

interface Followed { session: string; from: string }

/** A server whose streams the test writes. */
class TestServer {
  streams: { all: Followed[]; c: ReadableStreamDefaultController<Uint8Array>; open: boolean }[] = [];
  refuse: Error | undefined;
  lists = 0;
  first: SessionInfo[] = [];
  asked = 0;
  feed = async (all: readonly Followed[], signal: AbortSignal) => {
    this.asked++;
    if (this.refuse) throw this.refuse;
    return new Response(new ReadableStream({
      start: (c) => {
        const s = { all: all.map(({ session, from }) => ({ session, from })), c, open: true };
        this.streams.push(s);
        signal.addEventListener("abort", () => {
          if (s.open) c.error(signal.reason);
          s.open = false;
        });
      },
    }));
  };
  sessions = async () => (this.lists++, { sessions: this.first });
  get last() {
    return this.streams.at(-1)!;
  }
  get open() {
    return this.streams.filter((s) => s.open).length;
  }
  /** The sessions and positions that the open stream follows. */
  get followed() {
    return this.last.all.map((f) => f.session + "@" + f.from).sort();
  }
  event(kind: string, data: unknown) {
    this.last.c.enqueue(new TextEncoder().encode(`event: ${kind}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`));
  }
  news(session: string, more: object) {
    const sessions = this.last.all.flatMap((f, follow) => (f.session === session ? [{ follow, ...more }] : []));
    this.event("sessions", { sessions });
  }
  cut() {
    this.last.open = false;
    this.last.c.close();
  }
}

const message = (id: string, text: string) => ({ op: "upsert" as const, id, entity: { id, kind: "message" as const, content: [{ kind: "text" as const, text }] } });
const more = (id: string, text: string) => ({ op: "append" as const, id, text });

/** Tabs of one browser. */
class Browser {
  channels = new Map<string, Set<Channel>>();
  clock = new TestClock();
  server = new TestServer();
  open = (name: string): Channel => {
    const all = this.channels.get(name) ?? new Set();
    this.channels.set(name, all);
    const c: Channel = {
      onmessage: null,
      postMessage: (data: unknown) => {
        for (const other of all) if (other !== c) setImmediate(() => all.has(other) && other.onmessage?.call(other as BroadcastChannel, { data: structuredClone(data) } as MessageEvent));
      },
      close: () => all.delete(c),
    };
    all.add(c);
    return c;
  };
  tab(session: string, channels = true) {
    const tabs = new Tabs(this.server, channels ? this.open : undefined, "ponte", this.clock);
    const w = new Watch(tabs, session, this.clock);
    this.clock.tick();
    tabs.look();
    const text = (id: string) => {
      const e = w.state().snapshot.get(id);
      return e && textOf(e);
    };
    return { tabs, w, text };
  }
}

const settle = (b: Browser) => b.clock.pass(5 * SETTLE + PACE);

test("tabs share one stream, and each hears of its session", async () => {
  const b = new Browser();
  const tabs = ["a", "b", "c"].map((s) => b.tab(s));
  await settle(b);
  assert.equal(b.server.open, 1);
  assert.deepEqual(b.server.followed, ["a@", "b@", "c@"]);
  assert.deepEqual(tabs.map((t) => t.tabs.leads), [false, false, true], "the last one has it");
  for (const s of ["a", "b", "c"]) b.server.news(s, { reset: true, changes: [message("m", "in " + s)], position: s + ".1", running: s === "b" });
  await settle(b);
  assert.deepEqual(tabs.map((t) => t.text("m")), ["in a", "in b", "in c"]);
  assert.deepEqual(tabs.map((t) => t.w.state().running), [false, true, false]);
  assert.deepEqual(tabs.map((t) => t.w.state().link), ["live", "live", "live"]);
});

test("a tab that is hidden costs nothing, and goes on where it was", async () => {
  const b = new Browser();
  const [first, last] = [b.tab("a"), b.tab("b")];
  await settle(b);
  for (const s of ["a", "b"]) b.server.news(s, { reset: true, changes: [message("m", "1")], position: s + ".1" });
  await settle(b);
  last.tabs.leave();
  await settle(b);
  assert.deepEqual([b.server.open, first.tabs.leads], [1, true], "another one has the stream");
  assert.deepEqual(b.server.followed, ["a@a.1"]);
  first.tabs.leave();
  await settle(b);
  assert.equal(b.server.open, 0);
  const asked = b.server.asked;
  await b.clock.pass(60_000);
  assert.equal(b.server.asked, asked, "nothing wakes them");
  assert.equal(last.w.state().link, "live", "and nothing is wrong");
  last.tabs.look();
  await settle(b);
  assert.deepEqual(b.server.followed, ["b@b.1"]);
  b.server.news("b", { changes: [more("m", " 2")], position: "b.2" });
  await settle(b);
  assert.equal(last.text("m"), "1 2");
});

test("the stream outlives the tab that has it, also one that says nothing any more", async () => {
  const b = new Browser();
  const [first] = [b.tab("a"), b.tab("b")];
  await settle(b);
  b.server.news("a", { reset: true, changes: [message("m", "1")], position: "a.1" });
  await settle(b);
  for (const all of b.channels.values()) for (const c of [...all].slice(-1)) all.delete(c) && (c.postMessage = () => undefined); // of the last tab, which cannot say or hear anything
  b.server.cut();
  await b.clock.pass(3 * GONE);
  assert.equal(first.tabs.leads, true);
  b.server.news("a", { changes: [more("m", " 2")], position: "a.2" });
  await settle(b);
  assert.equal(first.text("m"), "1 2");
});

test("what was said twice while the stream changed hands is heard once", async () => {
  const b = new Browser();
  const [first] = [b.tab("a"), b.tab("b")];
  await settle(b);
  b.server.news("a", { reset: true, changes: [message("m", "1")], position: "a.1" });
  await settle(b);
  b.server.news("a", { changes: [more("m", " 2")], position: "a.2" });
  b.tab("c"); // which asks for the position before
  await settle(b);
  b.server.news("a", { changes: [more("m", " 2")], position: "a.2" });
  await settle(b);
  const from = b.server.last.all.find((f) => f.session === "a")!.from;
  assert.equal(first.text("m"), "1 2");
  assert.equal(from, "a.2");
});

test("text that is streamed is shown now and then, and all of it", async () => {
  const b = new Browser();
  const t = b.tab("a", false);
  await settle(b);
  b.server.news("a", { reset: true, changes: [message("m", "0")], position: "a.0", running: true });
  await settle(b);
  let told = 0;
  t.w.subscribe(() => told++);
  for (let i = 1; i <= 40; i++) {
    b.server.news("a", { changes: [more("m", " " + i)], position: "a." + i, running: true });
    await b.clock.pass(5);
  }
  assert.ok(told >= 4 && told <= 6, `${told} times in 200 ms`);
  b.server.news("a", { changes: [more("m", " end")], position: "a.41", running: false });
  await b.clock.pass(0);
  assert.equal(t.w.state().running, false, "the end is told of at once");
  assert.match(t.text("m")!, / 40 end$/);
});

test("two sessions in one tab, one after the other", async () => {
  const b = new Browser();
  const t = b.tab("a");
  await settle(b);
  t.w.close();
  const next = new Watch(t.tabs, "b");
  await settle(b);
  assert.deepEqual(b.server.followed, ["b@"]);
  next.close();
  await settle(b);
  assert.deepEqual(b.server.followed, []);
});

test("without channels each tab has a stream", async () => {
  const b = new Browser();
  b.tab("a", false);
  b.tab("b", false);
  await settle(b);
  assert.equal(b.server.open, 2);
});

test("a part of a large update is not gone on from, and is loaded before others are followed", async () => {
  const b = new Browser();
  const t = b.tab("a", false);
  await settle(b);
  b.server.news("a", { reset: true, changes: [message("m", "1")], more: true });
  await settle(b);
  assert.equal(t.text("m"), undefined);
  b.server.cut();
  await b.clock.pass(600);
  assert.deepEqual(b.server.followed, ["a@"]);
  b.server.news("a", { reset: true, changes: [message("m", "1")], more: true });
  await b.clock.pass(0);
  const n = b.server.streams.length;
  t.tabs.again();
  await b.clock.pass(LONGEST / 2);
  assert.equal(b.server.streams.length, n + 1, "what is followed anew has no parts");
});

test("attempts are further and further apart, and near again once something came", async () => {
  const b = new Browser();
  b.server.refuse = new APIError(0, "unreachable", "no");
  const t = b.tab("a", false);
  await settle(b);
  assert.equal(t.w.state().link, "lost");
  assert.equal(t.w.state().problem, "no");
  await b.clock.pass(75_000);
  assert.ok(b.server.asked >= 6 && b.server.asked < 25, `${b.server.asked} attempts`);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map((n) => backOff(n, 0)), [500, 1000, 2000, 4000, 8000, 15000, 15000]);
  assert.ok(backOff(3, 1) === backOff(3, 0) / 2);
  b.server.refuse = undefined;
  t.w.retry();
  await settle(b);
  assert.equal(t.w.state().link, "live");
  b.server.news("a", { reset: true, changes: [], position: "a.1" });
  await settle(b);
  const asked = b.server.asked;
  b.server.cut();
  await b.clock.pass(600);
  assert.equal(b.server.asked, asked + 1);
});

test("a stream that is silent is taken for lost", async () => {
  const b = new Browser();
  b.tab("a", false);
  await settle(b);
  await b.clock.pass(SILENCE);
  assert.equal(b.server.open, 0);
});

test("a session that is not there is closed, and the others go on", async () => {
  const b = new Browser();
  const [gone, busy, other] = [b.tab("gone"), b.tab("busy"), b.tab("b")];
  await settle(b);
  b.server.news("gone", { end: { error: { kind: "not_found", message: "There is no session." } } });
  b.server.news("busy", { end: { error: { kind: "limit", message: "Too many." } } });
  await settle(b);
  assert.deepEqual([gone.w.state().link, busy.w.state().link, other.w.state().link], ["closed", "lost", "live"]);
  assert.equal(busy.w.state().problem, "Too many.");
  await b.clock.pass(3000);
  assert.deepEqual(b.server.followed, ["b@", "busy@"], "what may work later is tried again");
});

test("tabs give up where trying again does not help", async () => {
  for (const status of [401, 403]) {
    const b = new Browser();
    b.server.refuse = new APIError(status, "", "no");
    const t = b.tab("a", false);
    await b.clock.pass(60_000);
    assert.equal(t.w.state().link, "denied");
    assert.equal(b.server.asked, 1);
    b.server.refuse = undefined;
    t.w.retry();
    await settle(b);
    assert.equal(t.w.state().link, "live");
  }
});

test("what is no message is ignored", async () => {
  const b = new Browser();
  const t = b.tab("a");
  await settle(b);
  const other = b.open("ponte");
  for (const wrong of [null, 5, {}, { say: "lead" }, { say: "want", to: 1 }, { say: "leave" }, { say: "list" }]) other.postMessage(wrong);
  b.server.event("sessions", "nonsense");
  b.server.event("sessions", {});
  b.server.event("sessions", { sessions: [{ follow: 7, changes: [] }] });
  b.server.event("other", {});
  b.server.news("a", { reset: true, changes: [message("m", "1")], position: "a.1" });
  await settle(b);
  assert.equal(t.text("m"), "1");
});

test("every tab hears of the list, which one of them reads", async () => {
  const b = new Browser();
  const heard: string[] = [];
  for (const s of ["a", "b", "c"]) b.tab(s).tabs.list((n) => heard.push(s + (n.first ? " first" : "") + (n.removed ?? "")));
  await settle(b);
  b.server.event("list", { all: true });
  await settle(b);
  assert.deepEqual(heard.sort(), ["a first", "b first", "c first"]);
  assert.equal(b.server.lists, 1);
  b.server.event("list", { removed: ["x"] });
  await settle(b);
  assert.equal(heard.filter((s) => s.endsWith("x")).length, 3);
});

test("news of the list have their place in it", () => {
  const s = (id: string, n: number): SessionInfo => ({ id, created: "", updated: `2026-01-01T00:00:${String(n).padStart(2, "0")}Z` });
  const ids = (all: SessionInfo[]) => all.map((x) => x.id).join("");
  const list = [s("a", 9), s("b", 8), s("c", 1)];
  assert.equal(ids(merged(list, { changed: [s("c", 10)] })), "cab");
  assert.equal(ids(merged(list, { removed: ["b"] })), "ac");
  assert.equal(ids(merged(list, { first: [s("d", 20), s("a", 9)] })), "da", "a short list is all there is");
  const first = Array.from({ length: 50 }, (_, i) => s("x" + i, 59 - i));
  assert.equal(merged([s("gone", 30), s("old", 1)], { first }).map((x) => x.id).filter((id) => !id.startsWith("x")).join(), "old");
});
