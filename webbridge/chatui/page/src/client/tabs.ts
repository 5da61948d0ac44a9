// SPDX-License-Identifier: Apache-2.0
import type { API } from "./api.ts";
import { type Clock, Feed, type ListNews, type News, realClock } from "./feed.ts";

/** A channel to the other tabs. */
export type Channel = Pick<BroadcastChannel, "postMessage" | "close" | "onmessage">;

/** How often the tab with the stream says that it is there, and after which time without that others take it for gone. */
export const BEAT = 2000, GONE = 5000;

/** In this time, one of the tabs takes the place of one that has left. */
export const JITTER = 40;

/** What tabs say to all others. */
type Said =
  | { say: "lead"; tab: string; at: number } // this tab has the stream, since then
  | { say: "want"; to: string; tab: string; session: string; from: string } // the tab with the stream is asked to follow a session
  | { say: "leave"; tab: string } // this tab wants nothing any more
  | { say: "left"; tab: string } // this tab has no stream any more
  | { say: "retry" }
  | { say: "list"; news: ListNews };

interface Want { session: string; from: () => string; take: (n: News) => void }

/**
 * Tabs shares one stream between all tabs of a browser, because a browser opens six connections to a server over HTTP/1.1. The tab that
 * came into sight last has the stream, and passes on what it hears. Tabs in the background want nothing. Without channels between tabs,
 * each has a stream of its own.
 */
export class Tabs {
  readonly #tab: string;
  readonly #channel: Channel | undefined;
  readonly #own: Channel | undefined; // what the tab with the stream passes on
  readonly #pipes = new Map<string, Channel>(); // to the own channels of others
  readonly #lists = new Set<(n: ListNews) => void>();
  #seen = false;
  #leader = { tab: "", at: 0 };
  #feed: Feed | undefined; // if this tab has the stream
  #want: Want | undefined;
  #timer: unknown; // to say that it is there, or to take others for gone

  constructor(
    private readonly api: Pick<API, "feed" | "sessions">, private readonly open: ((name: string) => Channel) | undefined,
    private readonly name: string, private readonly clock: Clock = realClock,
  ) {
    this.#tab = clock.random().toString(36).slice(2) + clock.random().toString(36).slice(2);
    this.#channel = open?.(name);
    this.#own = open?.(name + "/" + this.#tab);
    if (this.#channel) this.#channel.onmessage = (ev: MessageEvent) => this.#hear(ev.data as Partial<Said> | null);
    if (this.#own) this.#own.onmessage = (ev: MessageEvent) => this.#want?.take(ev.data as News);
  }

  /** Whether this tab has the stream. */
  get leads(): boolean {
    return this.#feed !== undefined;
  }

  /** Follows a session until the result is called. A tab follows one. */
  watch(session: string, from: () => string, take: (n: News) => void): () => void {
    const want = (this.#want = { session, from, take });
    this.#ask();
    return () => {
      if (this.#want !== want) return;
      this.#want = undefined;
      if (this.#feed) this.#feed.leave(this.#tab);
      else this.#say({ say: "leave", tab: this.#tab });
    };
  }

  /** Follows the session from the position where it is now, because something was missed. */
  again = (): void => this.#ask();

  /** Tries at once if the connection is lost. */
  retry = (): void => {
    if (this.#feed) this.#feed.retry();
    else this.#say({ say: "retry" });
  };

  /** Tells of changes in the list until the result is called. */
  list(f: (n: ListNews) => void): () => void {
    this.#lists.add(f);
    return () => void this.#lists.delete(f);
  }

  /** Says that this tab can be seen. */
  look(): void {
    if (this.#seen) return;
    this.#seen = true;
    this.#lead();
  }

  /** Says that nobody sees this tab. */
  leave(): void {
    if (!this.#seen) return;
    this.#seen = false;
    this.clock.clear(this.#timer);
    if (this.#feed) {
      this.#resign();
      this.#leader = { tab: "", at: 0 };
      this.#say({ say: "left", tab: this.#tab });
    } else {
      this.#say({ say: "leave", tab: this.#tab });
    }
  }

  close(): void {
    this.leave();
    this.#channel?.close();
    this.#own?.close();
  }

  /** Takes the stream over. */
  #lead() {
    if (!this.#seen || this.#feed) return;
    this.#leader = { tab: this.#tab, at: Math.max(this.clock.now(), this.#leader.at + 1) };
    this.#feed = new Feed(this.api, (tab, n) => this.#pass(tab, n), (news) => {
      this.#say({ say: "list", news });
      this.#tell(news);
    }, this.clock);
    this.#beat();
    this.#ask();
  }

  #resign() {
    this.#feed?.close();
    this.#feed = undefined;
    for (const pipe of this.#pipes.values()) pipe.close();
    this.#pipes.clear();
  }

  #beat() {
    this.clock.clear(this.#timer);
    if (!this.#channel) return;
    this.#say({ say: "lead", ...this.#leader });
    this.#timer = this.clock.set(() => this.#beat(), BEAT);
  }

  /** Waits for a sign of the tab with the stream. */
  #wait(ms: number) {
    this.clock.clear(this.#timer);
    if (this.#seen) this.#timer = this.clock.set(() => this.#lead(), ms);
  }

  /** Asks whoever has the stream to follow what this tab wants. */
  #ask() {
    const w = this.#want;
    if (!this.#seen || !w) return;
    if (this.#feed) this.#feed.follow(this.#tab, w.session, w.from());
    else this.#say({ say: "want", to: this.#leader.tab, tab: this.#tab, session: w.session, from: w.from() });
  }

  #pass(tab: string, n: News) {
    if (tab === this.#tab) this.#want?.take(n);
    else this.#pipes.get(tab)?.postMessage(n);
  }

  #say(s: Said) {
    this.#channel?.postMessage(s);
  }

  #tell(n: ListNews) {
    for (const f of this.#lists) f(n);
  }

  #hear(s: Partial<Said> | null) {
    switch (s?.say) {
      case "lead":
        if (typeof s.tab === "string" && typeof s.at === "number") this.#led(s.tab, s.at);
        break;
      case "want":
        if (!this.#feed || s.to !== this.#tab || typeof s.tab !== "string" || typeof s.session !== "string" || typeof s.from !== "string") return;
        if (!this.#pipes.has(s.tab)) this.#pipes.set(s.tab, this.open!(this.name + "/" + s.tab));
        this.#feed.follow(s.tab, s.session, s.from);
        break;
      case "leave":
        if (!this.#feed || typeof s.tab !== "string") return;
        this.#feed.leave(s.tab);
        this.#pipes.get(s.tab)?.close();
        this.#pipes.delete(s.tab);
        break;
      case "left":
        if (s.tab !== this.#leader.tab) return;
        this.#leader = { tab: "", at: this.#leader.at };
        this.#wait(this.clock.random() * JITTER);
        break;
      case "retry":
        this.#feed?.retry();
        break;
      case "list":
        if (this.#seen && typeof s.news === "object" && s.news) this.#tell(s.news);
    }
  }

  /** Hears that a tab has the stream. Of two, the later one has it. */
  #led(tab: string, at: number) {
    const known = this.#leader;
    if (at < known.at || (at === known.at && tab < known.tab)) {
      if (this.#feed) this.#say({ say: "lead", ...known });
      return;
    }
    this.#leader = { tab, at };
    if (tab !== known.tab) this.#resign();
    this.#wait(GONE + this.clock.random() * BEAT);
    if (tab !== known.tab) this.#ask();
  }
}

/** Says what can be seen, until the result is called. */
export function attend(tabs: Tabs): () => void {
  const seen = () => (document.visibilityState === "hidden" ? tabs.leave() : tabs.look());
  const online = () => document.visibilityState !== "hidden" && tabs.retry();
  const gone = () => tabs.leave();
  document.addEventListener("visibilitychange", seen);
  addEventListener("online", online);
  addEventListener("pagehide", gone);
  addEventListener("pageshow", seen);
  seen();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("online", online);
    removeEventListener("pagehide", gone);
    removeEventListener("pageshow", seen);
    tabs.leave();
  };
}
