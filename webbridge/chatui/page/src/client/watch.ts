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

  close(): void {
    this.#stopped = true;
    this.#listeners.clear();
    this.#abort?.abort();
    this.#wake?.();
  }

  async #run() {
    for (let attempt = 0; !this.#stopped; attempt++) {
      const before = this.#position;
      let heard = false;
      try {
        heard = await this.#follow();
        this.#problem = "";
      } catch (err) {
        if (this.#stopped) return;
        this.#problem = err instanceof Error ? err.message : String(err);
        if (err instanceof APIError && err.status >= 400 && err.status < 500 && err.status !== 408 && err.status !== 429) {
          this.#is(err.status === 404 ? "closed" : "denied");
          return;
        }
      }
      if (this.#stopped) return;
      if (heard || this.#position !== before) attempt = 0;
      this.#is("lost");
      await new Promise<void>((resolve) => {
        this.#wake = () => {
          this.clock.clear(this.#timer);
          this.#wake = undefined;
          resolve();
        };
        this.#timer = this.clock.set(() => this.#wake?.(), backOff(attempt, this.clock.random()));
      });
    }
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
    let silence: unknown;
    try {
      this.#is("live");
      for (;;) {
        silence = this.clock.set(() => abort.abort(), SILENCE);
        const { done, value } = await reader.read();
        this.clock.clear(silence);
        if (done) return heard;
        changed = false;
        parser.feed(value);
        if (changed) this.#tell();
      }
    } finally {
      this.clock.clear(silence);
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
        this.#problem = String((data as { error?: unknown }).error ?? "");
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

/** Whether a turn seems to be running, for servers that do not say. */
function guess(s: Snapshot): boolean {
  return s.entities.some((e) => (e.kind === "tool_call" || e.kind === "command" || e.kind === "agent") && !!e.status && !ended(e.status));
}
