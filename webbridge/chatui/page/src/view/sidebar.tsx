// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef, useState } from "react";
import type { API } from "../client/api.ts";
import { merged } from "../client/list.ts";
import type { Tabs } from "../client/tabs.ts";
import { line } from "../client/text.ts";
import type { SessionInfo } from "../client/types.ts";
import { Icon } from "./icons.tsx";

interface Props { api: API; tabs: Tabs; title: string; current: string; stamp: unknown; named: string; create: () => void; close: () => void; open: boolean; fail: (err: unknown) => void; theme: string; setTheme: () => void }

/** The list of sessions. It is read again when stamp changes, and follows what the server tells of it. */
export function Sidebar(p: Props) {
  const [query, setQuery] = useState("");
  const [all, setAll] = useState<SessionInfo[]>();
  const [scores, setScores] = useState<Record<string, string>>({});
  const [next, setNext] = useState<string>();
  const asked = useRef<AbortController>(undefined);
  const { api, fail } = p;

  const read = useCallback(async (q: string, cursor?: string) => {
    asked.current?.abort();
    const abort = (asked.current = new AbortController());
    try {
      const page = await api.sessions({ q, cursor, signal: abort.signal });
      const sessions = page.sessions ?? [];
      setAll((before) => (cursor ? [...(before ?? []), ...sessions.filter((s) => !before?.some((b) => b.id === s.id))] : sessions));
      setScores((before) => (cursor ? { ...before, ...page.scores } : (page.scores ?? {})));
      setNext(page.next || undefined);
    } catch (err) {
      if (!abort.signal.aborted) fail(err);
    }
  }, [api, fail]);

  useEffect(() => {
    const t = setTimeout(() => void read(query), query ? 200 : 0);
    return () => clearTimeout(t);
  }, [read, query, p.stamp]);
  const scored = Object.keys(scores).length > 0;
  const { tabs } = p;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = tabs.list((n) => {
      if (query === "") setAll((before) => before && merged(before, n));
      if (query !== "" || scored) timer ??= setTimeout(() => {
        timer = undefined;
        void read(query);
      }, 1000);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [tabs, read, query, scored]);

  return (
    <nav className={p.open ? "sidebar open" : "sidebar"} aria-label="Sessions">
      <div className="top">
        <h1 className="clip">{line(p.title)}</h1>
        <button type="button" className="quiet square" aria-label={"Colours: " + p.theme} title={"Colours: " + p.theme} onClick={p.setTheme}><Icon name="theme" /></button>
        <button type="button" className="quiet square narrow" aria-label="Close the list" onClick={p.close}><Icon name="failed" /></button>
      </div>
      <button type="button" className="new" onClick={p.create}><Icon name="plus" /> New session</button>
      <label className="search"><Icon name="search" /><input type="search" placeholder="Search" aria-label="Search sessions" value={query} onChange={(ev) => setQuery(ev.target.value)} /></label>
      <ul className="sessions">
        {all?.map((s) => (
          <li key={s.id}>
            <a href={"#/s/" + encodeURIComponent(s.id)} aria-current={s.id === p.current ? "page" : undefined} onClick={p.close}>
              <span className="clip" dir="auto">{line((s.id === p.current && p.named) || s.title || "") || "New session"}</span>
              <span className="dim clip">{ago(s.updated)}{s.dir ? " · " + line(base(s.dir)) : ""}{s.parent ? " · fork" : ""}</span>
              {scores[s.id] && <span className="dim clip" dir="auto">{line(scores[s.id] ?? "")}</span>}
            </a>
          </li>
        ))}
      </ul>
      {all?.length === 0 && <p className="dim none">{query ? "Nothing found." : "No sessions yet."}</p>}
      {next && <button type="button" className="quiet" onClick={() => void read(query, next)}>Show more</button>}
    </nav>
  );
}

function base(dir: string): string {
  return dir.replace(/[\\/]+$/, "").split(/[\\/]/).pop() ?? dir;
}

/** How long ago a time was. */
export function ago(time: string): string {
  const s = (Date.now() - Date.parse(time)) / 1000;
  if (Number.isNaN(s)) return "";
  if (s < 60) return "just now";
  if (s < 3600) return Math.floor(s / 60) + " min ago";
  if (s < 86_400) return Math.floor(s / 3600) + " h ago";
  if (s < 7 * 86_400) return Math.floor(s / 86_400) + " d ago";
  return new Date(time).toLocaleDateString();
}
