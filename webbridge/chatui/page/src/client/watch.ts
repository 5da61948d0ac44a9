// SPDX-License-Identifier: Apache-2.0
import { type Clock, type Link, type News, realClock } from "./feed.ts";
import { Fold, type Snapshot } from "./fold.ts";
import type { Tabs } from "./tabs.ts";

/** What is known of a session: what it shows, whether a turn is running, and how the connection is. */
export interface State { readonly snapshot: Snapshot; readonly running: boolean; readonly link: Link; readonly loaded: boolean; readonly problem: string }

/** The time between two changes of the state while text is streamed. More is not seen, and many tabs share one machine. */
export const PACE = 50;

/** Watch follows a session. It folds the changes, and tells subscribers of changes of the state: of text that is streamed now and then, of everything else at once. */
export class Watch {
  #fold = new Fold();
  #position = "";
  #running = false;
  #link: Link = "connecting";
  #loaded = false;
  #problem = "";
  #state: State;
  #listeners = new Set<() => void>();
  #stop: () => void;
  #pause: unknown; // after a change, until the next one

  constructor(private readonly tabs: Pick<Tabs, "watch" | "again" | "retry">, readonly session: string, private readonly clock: Clock = realClock) {
    this.#state = this.#make();
    this.#stop = tabs.watch(session, () => this.#position, (n) => this.#take(n));
  }

  state = (): State => this.#state;

  subscribe = (f: () => void): (() => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  /** Tries at once if the connection is lost. */
  retry = (): void => this.tabs.retry();

  close(): void {
    this.#listeners.clear();
    this.clock.clear(this.#pause);
    this.#stop();
  }

  #take(n: News) {
    if ("link" in n) {
      if (n.link === this.#link && n.problem === this.#problem) return;
      this.#link = n.link;
      this.#problem = n.problem;
    } else if (!n.reset && n.from !== this.#position) {
      this.tabs.again(); // two tabs had the stream for a moment: what leads from elsewhere is not for this one
      return;
    } else {
      const streamed = !n.reset && n.running === this.#running && n.changes.every((c) => c.op === "append");
      this.#fold.update(n);
      this.#position = n.position;
      this.#running = n.running;
      this.#loaded = true;
      this.#link = "live";
      this.#problem = "";
      if (streamed && this.#pause !== undefined) return; // it is told of in a moment
    }
    this.#tell();
  }

  #tell() {
    this.clock.clear(this.#pause);
    this.#pause = this.clock.set(() => {
      this.#pause = undefined;
      if (this.#state.snapshot !== this.#fold.snapshot()) this.#tell();
    }, PACE);
    this.#state = this.#make();
    for (const f of this.#listeners) f();
  }

  #make(): State {
    return { snapshot: this.#fold.snapshot(), running: this.#running, link: this.#link, loaded: this.#loaded, problem: this.#problem };
  }
}
