// SPDX-License-Identifier: Apache-2.0
import { diffLines, diffWordsWithSpace } from "diff";

export interface Span { text: string; changed: boolean }
export interface Side { line: number; spans: Span[] }

/** A row of a diff: the two sides of a line, or lines that are alike and left out. */
export type Row =
  | { kind: "same"; left: Side; right: Side }
  | { kind: "change"; left?: Side; right?: Side }
  | { kind: "gap"; rows: Row[] };

/** Note says what the rows cannot show. */
export interface Diff { rows: Row[]; added: number; removed: number; note: string }

const context = 3;

/** Compares two texts by lines. A text that is null is a file that is not there. Lines that are alike and far from any change are in gaps. */
export function compare(before: string | null | undefined, after: string): Diff {
  const rows: Row[] = [];
  let l = 0, r = 0, added = 0, removed = 0;
  const left = lines(before ?? ""), right = lines(after);
  const parts = diffLines(left.join(""), right.join(""), { timeout: 300, maxEditLength: 20_000 }) ?? [
    { value: left.join(""), removed: true, added: false, count: left.length },
    { value: right.join(""), removed: false, added: true, count: right.length },
  ];
  for (let i = 0; i < parts.length; i++) {
    const p = parts[i]!;
    if (!p.added && !p.removed) {
      for (const text of lines(p.value)) rows.push({ kind: "same", left: plain(++l, text), right: plain(++r, text) });
      continue;
    }
    const gone = p.removed ? lines(p.value) : [];
    const come = p.added ? lines(p.value) : parts[i + 1]?.added && p.removed ? lines(parts[++i]!.value) : [];
    removed += gone.length;
    added += come.length;
    for (let k = 0; k < Math.max(gone.length, come.length); k++) {
      const a = gone[k], b = come[k];
      if (a !== undefined && b !== undefined) {
        const [x, y] = words(a, b);
        rows.push({ kind: "change", left: { line: ++l, spans: x }, right: { line: ++r, spans: y } });
      } else if (a !== undefined) rows.push({ kind: "change", left: plain(++l, a) });
      else rows.push({ kind: "change", right: plain(++r, b!) });
    }
  }
  return { rows: folded(rows), added, removed, note: ends(before ?? "", after) };
}

/** Whether one of the texts ends within a line and the other does not. */
function ends(before: string, after: string): string {
  if (before === "" || after === "" || before.endsWith("\n") === after.endsWith("\n")) return "";
  return after.endsWith("\n") ? "The last line gets a line end." : "The last line loses its line end.";
}

/** Splits text into lines, each with its end. */
function lines(s: string): string[] {
  return s.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function plain(line: number, text: string): Side {
  return { line, spans: [{ text: shown(text), changed: false }] };
}

/** The text of a line without its end. A carriage return stays, so that a change of line ends is seen. */
function shown(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}

/** What differs between two lines, by words, if they are alike enough for that to help. */
function words(a: string, b: string): [Span[], Span[]] {
  const x = shown(a), y = shown(b);
  if (x.length + y.length > 2000) return [[{ text: x, changed: false }], [{ text: y, changed: false }]];
  const parts = diffWordsWithSpace(x, y);
  const same = parts.reduce((n, p) => n + (p.added || p.removed ? 0 : p.value.trim().length), 0);
  if (same * 3 < Math.max(x.trim().length, y.trim().length)) return [[{ text: x, changed: false }], [{ text: y, changed: false }]];
  return [
    parts.filter((p) => !p.added).map((p) => ({ text: p.value, changed: !!p.removed })),
    parts.filter((p) => !p.removed).map((p) => ({ text: p.value, changed: !!p.added })),
  ];
}

function folded(rows: Row[]): Row[] {
  const keep = new Array<boolean>(rows.length).fill(false);
  rows.forEach((row, i) => {
    if (row.kind === "change") for (let k = Math.max(0, i - context); k <= Math.min(rows.length - 1, i + context); k++) keep[k] = true;
  });
  const all: Row[] = [];
  for (let i = 0; i < rows.length; ) {
    if (keep[i]) {
      all.push(rows[i++]!);
      continue;
    }
    let end = i;
    while (end < rows.length && !keep[end]) end++;
    const gap = rows.slice(i, end);
    if (gap.length > 2) all.push({ kind: "gap", rows: gap });
    else all.push(...gap);
    i = end;
  }
  return all;
}
