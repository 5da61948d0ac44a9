// SPDX-License-Identifier: Apache-2.0
import { FIRST, type ListNews } from "./feed.ts";
import type { SessionInfo } from "./types.ts";

/** The list of sessions after some news, the one that was changed last first. What is further down than the beginning that the news have stays. */
export function merged(before: readonly SessionInfo[], n: ListNews): SessionInfo[] {
  const news = [...(n.changed ?? []), ...(n.first ?? [])];
  const gone = new Set([...(n.removed ?? []), ...news.map((s) => s.id)]);
  const last = n.first && n.first.length < FIRST ? "" : n.first?.at(-1)?.updated;
  const rest = before.filter((s) => !gone.has(s.id) && (last === undefined || s.updated < last));
  return [...news, ...rest].sort((a, b) => Date.parse(b.updated) - Date.parse(a.updated));
}
