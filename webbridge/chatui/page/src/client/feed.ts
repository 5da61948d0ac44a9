// SPDX-License-Identifier: Apache-2.0
import { type API, APIError } from "./api.ts";
import { type ServerEvent, EventParser } from "./sse.ts";
import type { Change, SessionInfo } from "./types.ts";

export type Link = "connecting" | "live" | "lost" | "closed" | "denied";

/** The clock, replaced in tests. */
export interface Clock { set(f: () => void, ms: number): unknown; clear(timer: unknown): void; random(): number; now(): number }

export const realClock: Clock = {
  set: (f, ms) => setTimeout(f, ms),
  clear: (t) => clearTimeout(t as ReturnType<typeof setTimeout>),
  random: Math.random,
  now: Date.now,
};

/** A stream that is silent for so long is taken for lost. The server writes a comment every 15 seconds. */
export const SILENCE = 45_000;

/** The time in which changes of what is followed become one, and the longest time until they have effect while a session is loaded. */
export const SETTLE = 10, LONGEST = 1000;

/** How many sessions one stream follows. */
export const MOST = 100;

/** The time until the next attempt: it doubles from half a second to 15 seconds, less up to a half by chance. */
export function backOff(attempt: number, random: number): number {
  return Math.min(15_000, 500 * 2 ** Math.min(attempt, 10)) * (1 - random / 2);
}

/** What is new for a tab: changes of its session that lead from one position to another, or how the connection is. */
export type News =
  | { from: string; position: string; reset: boolean; running: boolean; changes: Change[] }
  | { link: Link; problem: string };

/** What is new in the list: its beginning as it is now, or sessions that have changed or are gone. */
export interface ListNews { first?: SessionInfo[]; changed?: SessionInfo[]; removed?: string[] }

interface Followed { tab: string; session: string; from: string; parts: Change[]; reset: boolean }

interface SessionNews {
  follow: number; changes?: Change[]; reset?: boolean; more?: boolean; position?: string; running?: boolean;
  end?: { error?: { kind?: string; message?: string } };
}

/** How many sessions of the list are read when any of them may have changed. */
export const FIRST = 50;

/** Feed is the one stream of a browser. It follows the sessions of all tabs and the list, and goes on where it was after a lost connection. */
export class Feed {
  #followed = new Map<string, Followed>(); // by tab
  #abort: AbortController | undefined;
  #timer: unknown;
  #settling: unknown;
  #wake: (() => void) | undefined;
  #stopped = false;
  #cut = false; // the stream has ended because others are to be followed
  #link: Link = "connecting";
  #problem = "";

  constructor(
    private readonly api: Pick<API, "feed" | "sessions">, private readonly tell: (tab: string, n: News) => void,
    private readonly listed: (n: ListNews) => void, private readonly clock: Clock,
  ) {
    void this.#run();
    this.#change();
  }

  /** Follows a session for a tab from a position on. */
  follow(tab: string, session: string, from: string): void {
    this.#followed.set(tab, { tab, session, from, parts: [], reset: false });
    if (this.#link !== "connecting") this.tell(tab, { link: this.#link, problem: this.#problem });
    this.#change();
  }

  /** Follows nothing for a tab. */
  leave(tab: string): void {
    if (this.#followed.delete(tab)) this.#change();
  }

  /** Tries at once if the connection is lost. */
  retry(): void {
    this.#wake?.();
  }

  close(): void {
    this.#stopped = true;
    this.clock.clear(this.#settling);
    this.#abort?.abort();
    this.#wake?.();
  }

  /** Has the stream follow something else, once nothing more changes. What is being loaded is loaded first. */
  #change(waited = 0) {
    this.clock.clear(this.#settling);
    this.#settling = this.clock.set(() => {
      const loading = this.#abort && [...this.#followed.values()].some((f) => f.parts.length > 0);
      if (loading && waited < LONGEST) {
        this.#change(waited + SETTLE);
        return;
      }
      this.#cut = true;
      this.#abort?.abort();
      this.#wake?.();
    }, SETTLE);
  }

  async #run() {
    await this.#sleep();
    for (let attempt = 0; !this.#stopped; attempt++) {
      this.#cut = false;
      let heard = false;
      try {
        heard = await this.#read();
      } catch (err) {
        if (!this.#stopped && !this.#cut) {
          this.#problem = err instanceof Error ? err.message : String(err);
          if (err instanceof APIError && err.status >= 400 && err.status < 500 && err.status !== 408 && err.status !== 429) {
            this.#is("denied");
            await this.#sleep(); // until somebody tries again
            attempt = -1;
            continue;
          }
        }
      }
      if (this.#stopped) return;
      if (this.#cut) {
        attempt = -1;
        continue;
      }
      if (heard) attempt = 0;
      this.#is("lost");
      await this.#sleep(backOff(attempt, this.clock.random()));
    }
  }

  /** Waits for a time, or without one until it is woken. */
  #sleep(ms?: number): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wake = () => {
        this.clock.clear(this.#timer);
        this.#wake = undefined;
        resolve();
      };
      this.#timer = ms === undefined ? undefined : this.clock.set(() => this.#wake?.(), ms);
    });
  }

  /** Reads one stream to its end. It reports whether anything came. */
  async #read(): Promise<boolean> {
    const abort = (this.#abort = new AbortController());
    const all = [...this.#followed.values()].slice(-MOST);
    for (const f of all) Object.assign(f, { parts: [], reset: false });
    let silence: unknown;
    try {
      const r = await this.api.feed(all, abort.signal);
      let heard = false;
      const parser = new EventParser((e) => {
        heard = true;
        this.#take(all, e);
      });
      const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
      this.#problem = "";
      this.#is("live");
      for (;;) {
        silence = this.clock.set(() => abort.abort(), SILENCE);
        const { done, value } = await reader.read();
        this.clock.clear(silence);
        if (done || this.#stopped) return heard;
        parser.feed(value);
      }
    } finally {
      this.clock.clear(silence);
      abort.abort();
      if (this.#abort === abort) this.#abort = undefined;
    }
  }

  #take(all: Followed[], e: ServerEvent) {
    let data: unknown;
    try {
      data = JSON.parse(e.data);
    } catch {
      return;
    }
    if (typeof data !== "object" || data === null) return;
    switch (e.event) {
      case "sessions":
        for (const n of (data as { sessions?: SessionNews[] }).sessions ?? []) this.#hear(all[n.follow], n);
        break;
      case "list":
        if ((data as { all?: boolean }).all) void this.#list();
        else this.listed(data as ListNews);
        break;
      case "end":
        this.#problem = (data as SessionNews["end"])?.error?.message ?? "";
    }
  }

  #hear(f: Followed | undefined, n: SessionNews) {
    if (!f || this.#followed.get(f.tab) !== f) return; // the tab follows something else by now
    if (n.end) {
      const kind = n.end.error?.kind, problem = n.end.error?.message ?? "";
      const link = kind === "not_found" ? "closed" : kind === "forbidden" ? "denied" : "lost";
      if (link === "lost") this.clock.set(() => !this.#stopped && this.#change(), backOff(2, this.clock.random()));
      else this.#followed.delete(f.tab);
      this.tell(f.tab, { link, problem });
      return;
    }
    if (n.reset) Object.assign(f, { parts: [], reset: true });
    f.parts.push(...(n.changes ?? []));
    if (n.more) return; // a part is not gone on from
    const news: News = { from: f.from, position: n.position ?? "", reset: f.reset, running: n.running === true, changes: f.parts };
    Object.assign(f, { from: news.position, parts: [], reset: false });
    this.tell(f.tab, news);
  }

  async #list() {
    try {
      const page = await this.api.sessions({ limit: FIRST });
      if (!this.#stopped) this.listed({ first: page.sessions ?? [] });
    } catch {
      // the stream fails, too, and begins again
    }
  }

  #is(link: Link) {
    this.#link = link;
    for (const tab of [...this.#followed.keys()]) this.tell(tab, { link, problem: this.#problem });
  }
}
