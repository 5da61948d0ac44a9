// SPDX-License-Identifier: Apache-2.0
import { type API, APIError } from "./api.ts";
import { Fold, type Snapshot, ended } from "./fold.ts";
import { EventParser, type ServerEvent } from "./sse.ts";
import type { Update } from "./types.ts";

export type Link = "connecting" | "live" | "lost" | "closed" | "denied";

/** What is known of a session: what it shows, whether a turn is running, and how the connection is. */
export interface State { readonly snapshot: Snapshot; readonly running: boolean; readonly link: Link; readonly loaded: boolean; readonly problem: string }

/** The clock, replaced in tests. */
export interface Clock { set(f: () => void, ms: number): unknown; clear(timer: unknown): void; random(): number }

const realClock: Clock = {
  set: (f, ms) => setTimeout(f, ms),
  clear: (t) => clearTimeout(t as ReturnType<typeof setTimeout>),
  random: Math.random,
};

/** A stream that is silent for so long is taken for lost. The server writes a comment every 15 seconds. */
export const SILENCE = 45_000;

/** How much a watch follows: all the time, in short looks while others need the connections, or not at all. */
export type Following = "always" | "now and then" | "never";

/** The time between two looks. A look ends after this time without news, or after the longest time if it has brought some. */
export const LOOKS = 3000, QUIET = 200, LONGEST = 1000;

/** The time until the next attempt: it doubles from half a second to 15 seconds, less up to a half by chance. */
export function backOff(attempt: number, random: number): number {
  return Math.min(15_000, 500 * 2 ** Math.min(attempt, 10)) * (1 - random / 2);
}

/**
 * Watch follows a session. It folds the changes, and after a lost connection goes on at the position of the last update. Subscribers
 * are told of each change of the state, at most once for each piece of the stream.
 */
export class Watch {
  #fold = new Fold();
  #position = "";
  #whole = false; // the stream that is read began with everything there is
  #told: boolean | undefined; // whether a turn is running, if the server says so
  #link: Link = "connecting";
  #loaded = false;
  #problem = "";
  #state: State;
  #listeners = new Set<() => void>();
  #abort: AbortController | undefined;
  #timer: unknown;
  #wake: (() => void) | undefined;
  #stopped = false;
  #following: Following = "always";
  #cut = false; // the stream has ended because it should

  constructor(private readonly api: Pick<API, "events">, readonly session: string, private readonly clock: Clock = realClock) {
    this.#state = this.#make();
    void this.#run();
  }

  state = (): State => this.#state;

  subscribe = (f: () => void): (() => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  /** Tries at once if the connection is lost, for example when the machine is online again. */
  retry = (): void => this.#wake?.();

  /** Says how much to follow from now on. The stream goes on at its position. */
  follow(f: Following): void {
    const before = this.#following;
    this.#following = f;
    if (f === before) return;
    if (f === "never" || this.#loaded) this.#end(); // what is not loaded is read to its end first
    if (f === "always") this.#wake?.();
  }

  close(): void {
    this.#stopped = true;
    this.#listeners.clear();
    this.#abort?.abort();
    this.#wake?.();
  }

  async #run() {
    for (let attempt = 0; !this.#stopped; attempt++) {
      if (this.#following === "never") {
        await this.#sleep();
        attempt = -1;
        continue;
      }
      const before = this.#position;
      let heard = false;
      this.#cut = false;
      try {
        heard = await this.#follow();
        this.#problem = "";
      } catch (err) {
        if (this.#stopped) return;
        if (!this.#cut) this.#problem = err instanceof Error ? err.message : String(err);
        if (!this.#cut && err instanceof APIError && err.status >= 400 && err.status < 500 && err.status !== 408 && err.status !== 429) {
          this.#is(err.status === 404 ? "closed" : "denied");
          return;
        }
      }
      if (this.#stopped) return;
      if (this.#cut) {
        if (this.#following === "now and then") await this.#sleep(LOOKS);
        attempt = -1;
        continue;
      }
      if (heard || this.#position !== before) attempt = 0;
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

  /** Ends the stream, because it should end. */
  #end() {
    this.#cut = true;
    this.#abort?.abort();
  }

  /** Reads one stream to its end. It reports whether anything came. */
  async #follow(): Promise<boolean> {
    const abort = (this.#abort = new AbortController());
    this.#whole = this.#position === "";
    const r = await this.api.events(this.session, this.#position, abort.signal);
    let heard = false, changed = false;
    const parser = new EventParser((e) => {
      heard = true;
      changed = this.#take(e) || changed;
    });
    const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
    let silence: unknown, longest: unknown;
    const before = this.#position;
    const enough = () => {
      if (this.#position !== before) this.#end();
      else longest = this.clock.set(enough, LONGEST);
    };
    try {
      this.#is("live");
      if (this.#following === "now and then") longest = this.clock.set(enough, LONGEST);
      for (;;) {
        const look = this.#following === "now and then" && this.#loaded;
        silence = this.clock.set(() => (look ? this.#end() : abort.abort()), look ? QUIET : SILENCE);
        const { done, value } = await reader.read();
        this.clock.clear(silence);
        if (done) return heard;
        changed = false;
        parser.feed(value);
        if (changed) this.#tell();
      }
    } finally {
      this.clock.clear(silence);
      this.clock.clear(longest);
      abort.abort();
    }
  }

  #take(e: ServerEvent): boolean {
    let data: unknown;
    try {
      data = JSON.parse(e.data);
    } catch {
      return false;
    }
    if (typeof data !== "object" || data === null) return false;
    switch (e.event) {
      case "update": {
        const u = data as Update;
        this.#fold.update(this.#whole ? { ...u, reset: true } : u);
        this.#whole = false;
        this.#position = e.id || this.#position; // a part of a large update has none
        this.#loaded = true;
        return true;
      }
      case "state":
        this.#told = (data as { running?: boolean }).running === true;
        this.#loaded = true;
        return true;
      case "end":
        this.#problem = messageOf((data as { error?: unknown }).error);
        return true;
    }
    return false;
  }

  #is(link: Link) {
    if (this.#link !== link) {
      this.#link = link;
      this.#tell();
    }
  }

  #tell() {
    this.#state = this.#make();
    for (const f of this.#listeners) f();
  }

  #make(): State {
    const snapshot = this.#fold.snapshot();
    return { snapshot, running: this.#told ?? guess(snapshot), link: this.#link, loaded: this.#loaded, problem: this.#problem };
  }
}

/** What an error of the server says. */
function messageOf(error: unknown): string {
  const message = (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : "";
}

/** Whether a turn seems to be running, for servers that do not say. */
function guess(s: Snapshot): boolean {
  return s.entities.some((e) => (e.kind === "tool_call" || e.kind === "command" || e.kind === "agent") && !!e.status && !ended(e.status));
}
