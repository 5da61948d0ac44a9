// SPDX-License-Identifier: Apache-2.0
import type { Watch } from "./watch.ts";

/**
 * How many tabs of a browser follow a session without a break. A browser opens six connections to a server over HTTP/1.1, for all tabs: the others
 * are for answers, and for pages that load.
 */
export const MOST = 2;

/** What tabs tell each other: that one is looked at, or that it follows nothing any more. */
interface Told { tab: string; on: boolean }

/** A channel to the other tabs. */
export type Channel = Pick<BroadcastChannel, "postMessage" | "close" | "onmessage">;

/** Crowd knows whether too many other tabs were looked at after this one. */
export class Crowd {
  readonly #tab = Math.random().toString(36).slice(2);
  readonly #later = new Set<string>();

  constructor(private readonly channel: Channel | undefined, private readonly changed: () => void) {
    if (channel) channel.onmessage = (ev: MessageEvent) => this.#hear(ev.data as Partial<Told> | null);
  }

  /** Whether this tab should leave the connections to others. */
  get full(): boolean {
    return this.#later.size >= MOST;
  }

  /** Says that this tab is looked at. */
  look(): void {
    this.#later.clear();
    this.#tell(true);
    this.changed();
  }

  /** Says that this tab follows nothing. */
  leave(): void {
    this.#tell(false);
  }

  close(): void {
    this.leave();
    this.channel?.close();
  }

  #tell(on: boolean) {
    this.channel?.postMessage({ tab: this.#tab, on } satisfies Told);
  }

  #hear(t: Partial<Told> | null) {
    if (typeof t?.tab !== "string") return;
    const before = this.full;
    if (t.on) this.#later.add(t.tab);
    else this.#later.delete(t.tab);
    if (this.full !== before) this.changed();
  }
}

/** Has a watch follow its session while somebody can see it, until the result is called. A tab in the background has no stream. */
export function attend(w: Pick<Watch, "follow" | "retry">): () => void {
  const hidden = () => document.visibilityState === "hidden";
  const crowd = new Crowd(typeof BroadcastChannel === "function" ? new BroadcastChannel("ponte") : undefined, () =>
    w.follow(hidden() ? "never" : crowd.full ? "now and then" : "always"));
  const seen = () => {
    if (hidden()) {
      crowd.leave();
      w.follow("never");
    } else {
      crowd.look();
      w.retry();
    }
  };
  const used = () => {
    if (crowd.full && !hidden()) crowd.look();
  };
  const online = () => !hidden() && w.retry();
  const gone = () => crowd.leave();
  document.addEventListener("visibilitychange", seen);
  for (const kind of ["focus", "pointerdown", "keydown"]) addEventListener(kind, used, true);
  addEventListener("online", online);
  addEventListener("pagehide", gone);
  seen();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    for (const kind of ["focus", "pointerdown", "keydown"]) removeEventListener(kind, used, true);
    removeEventListener("online", online);
    removeEventListener("pagehide", gone);
    crowd.close();
  };
}
