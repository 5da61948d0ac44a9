// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useMemo, useState } from "react";
import type { API } from "../client/api.ts";
import { about, answers, type Score } from "../client/scores.ts";
import { line } from "../client/text.ts";
import type { Entity } from "../client/types.ts";
import { usePage } from "./context.ts";
import { Icon } from "./icons.tsx";

/** The scores of a session, and what marks an answer. */
export interface Scoring {
  /** The prompt of the turn whose answer a message is; undefined for other messages. */
  prompt: (message: string) => string | undefined;
  scores: readonly Score[];
  mark: (prompt: string, good: boolean, reason: string) => void;
}

/** Reads the scores when the session is opened, and after each turn. It is undefined if the server has none. */
export function useScoring(api: API, session: string, offered: boolean, items: readonly Entity[], running: boolean, fail: (err: unknown) => void): Scoring | undefined {
  const [scores, setScores] = useState<readonly Score[]>([]);
  const read = useCallback(() => api.scores(session).then((s) => setScores(s.scores ?? [])), [api, session]);
  const there = offered && items.length > 0;
  useEffect(() => {
    if (there && !running) read().catch(() => undefined); // the next turn reads them again
  }, [there, running, read]);
  const prompts = useMemo(() => answers(items, running), [items, running]);
  return useMemo(() => offered ? {
    scores, prompt: (id) => prompts.get(id),
    mark: (prompt, good, reason) => void api.mark(session, prompt, good, reason).then(read).catch(fail),
  } : undefined, [api, session, offered, scores, prompts, read, fail]);
}

/** Thumbs for the answer of a turn, and the scores that others gave it. */
export function Marks({ e }: { e: Entity }) {
  const { scoring } = usePage();
  const prompt = scoring?.prompt(e.id);
  if (!scoring || prompt === undefined) return null;
  const { mine, others } = about(scoring.scores, prompt);
  const bad = () => {
    const reason = window.prompt("What is wrong with the answer? This may stay empty.", mine?.reason ?? "");
    if (reason !== null) scoring.mark(prompt, false, reason.trim());
  };
  const thumb = (name: string, icon: string, is: boolean, press: () => void) => (
    <button type="button" className="quiet square small" aria-label={name} title={name} aria-pressed={is} onClick={press}><Icon name={icon} /></button>
  );
  return (
    <div className={mine || others.length ? "marks given" : "marks"}>
      {thumb("Good answer", "up", mine?.value === 1, () => scoring.mark(prompt, true, ""))}
      {thumb("Bad answer", "under", mine?.value === 0, bad)}
      {mine?.reason && <span className="dim clip">{line(mine.reason)}</span>}
      {others.map((s, i) => (
        <span key={i} className="tag" title={line([s.by, s.reason].filter(Boolean).join(": "))}>{line(s.name)} {s.label ? line(s.label) : +s.value.toPrecision(3)}</span>
      ))}
    </div>
  );
}
