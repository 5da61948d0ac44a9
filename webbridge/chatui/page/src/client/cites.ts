// SPDX-License-Identifier: Apache-2.0
// The sources of a message, and where its text cites them. Servers give places in bytes of the joined text; the page needs indexes of
// JavaScript strings, and places in what Markdown shows.
import { link } from "./text.ts";
import type { Content } from "./types.ts";

/** A source with its number. Without an href its address may not be followed. */
export interface Source { readonly number: number; readonly name: string; readonly href?: string; readonly host?: string }

/** The sources that are cited at one place, an index in a text. */
export interface Mark { readonly at: number; readonly sources: readonly Source[] }

/** The most marks of a message. */
const most = 500;

/** Numbers the links that the text of a message cites, in their order, and returns the marks of each text. Places beyond the text are left out. */
export function citations(content: readonly Content[]): { sources: ReadonlyMap<Content, Source>; marks: ReadonlyMap<Content, readonly Mark[]> } {
  const sources = new Map<Content, Source>(), marks = new Map<Content, Mark[]>();
  if (!content.some((c) => c.kind === "link" && Array.isArray(c.cites))) return { sources, marks };
  const texts = content.filter((c) => c.kind === "text");
  const text = texts.map((c) => c.text ?? "").join("");
  const index = indexes(text);
  const at = new Map<number, Source[]>();
  for (const c of content) {
    if (c.kind !== "link" || !Array.isArray(c.cites)) continue;
    let source: Source | undefined;
    for (const s of c.cites) {
      const start = index(s?.start), end = index(s?.end);
      if (start === undefined || end === undefined || start >= end) continue;
      const place = behind(text, start, end);
      const here = at.get(place) ?? [];
      if (here.length === 0 && at.size >= most) continue;
      if (!source) {
        const safe = link(c.uri ?? "");
        const web = safe && /^https?:/.test(safe.href);
        source = { number: sources.size + 1, name: c.name || c.uri || "source", href: web ? safe.href : undefined, host: web ? safe.host : undefined };
        sources.set(c, source);
      }
      if (!here.includes(source)) here.push(source);
      at.set(place, here);
    }
  }
  const all = [...at].sort((a, b) => a[0] - b[0]).map(([at, sources]): Mark => ({ at, sources: sources.sort((a, b) => a.number - b.number) }));
  let from = 0, next = 0;
  for (const c of texts) {
    const to = from + (c.text ?? "").length, mine: Mark[] = [];
    for (; next < all.length && all[next]!.at <= to; next++) mine.push({ ...all[next]!, at: all[next]!.at - from });
    if (mine.length) marks.set(c, mine);
    from = to;
  }
  return { sources, marks };
}

/** Returns a function from an offset in bytes of UTF-8 to an index in the string. One within a character is its end, and one beyond the text is undefined. */
function indexes(text: string): (offset: unknown) => number | undefined {
  const ends: number[] = []; // the index after the character that a byte belongs to
  for (let i = 0; i < text.length; ) {
    const c = text.codePointAt(i)!;
    i += c > 0xffff ? 2 : 1;
    for (let n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; n > 0; n--) ends.push(i);
  }
  return (offset) => (typeof offset !== "number" || !Number.isInteger(offset) || offset < 0 || offset > ends.length ? undefined : offset === 0 ? 0 : ends[offset - 1]);
}

/** The place for the mark of a passage: at its end, without the space there, and not within what is shown as one character. */
function behind(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && /\s/.test(text[at - 1]!)) at--;
  if (at === start) return end;
  const joined = /(?:[\p{M}\u200d\ufe0f]|(?<=\u200d)\p{So})+/uy;
  joined.lastIndex = at;
  return joined.test(text) ? joined.lastIndex : at;
}

/**
 * Places the marks of a Markdown source in what is shown of it, which is told piece by piece. A mark stands behind the last shown
 * character before its place. What is shown is never changed, so markup cannot break; where it differs much from the source, a mark may be
 * some characters off.
 */
export class Places {
  readonly source: string;
  readonly marks: readonly Mark[];
  #next = 0;
  #cursor = 0; // in the source, behind what was shown

  constructor(source: string, marks: readonly Mark[]) {
    this.source = source;
    this.marks = marks;
  }

  /** The text that is shown next, with the marks that belong into it. */
  within(shown: string): (string | Mark)[] {
    const all: (string | Mark)[] = [];
    let from = 0;
    this.#follow(shown, (k, at) => {
      const mark = this.#upTo(at);
      if (!mark) return;
      if (from < k) all.push(shown.slice(from, k));
      from = k;
      all.push(mark);
    });
    if (from < shown.length) all.push(shown.slice(from));
    return all;
  }

  /** Says that a text is shown that has no room for marks, such as code. */
  over(shown: string): void {
    this.#follow(shown, () => undefined);
  }

  /** The mark that belongs behind a link, code or a picture. */
  behind(): Mark | undefined {
    this.#cursor = this.#past(closing);
    return this.#upTo(this.#cursor);
  }

  /** The mark that belongs to the end of a paragraph or the like, before the next letter or digit of the source, or up to a place in it. */
  end(upTo = 0): Mark | undefined {
    return this.#upTo(Math.max(upTo, this.#past(markup)));
  }

  /** The place behind what follows the cursor and is not shown. */
  #past(hidden: RegExp): number {
    hidden.lastIndex = this.#cursor;
    return hidden.test(this.source) ? hidden.lastIndex : this.#cursor;
  }

  /** Takes the marks up to a place, as one. */
  #upTo(end: number): Mark | undefined {
    let mark = this.marks[this.#next];
    if (!mark || mark.at > end) return undefined;
    const sources = new Set<Source>();
    let at = 0;
    for (; mark && mark.at <= end; mark = this.marks[++this.#next]) {
      at = mark.at;
      for (const s of mark.sources) sources.add(s);
    }
    return { at, sources: [...sources].sort((a, b) => a.number - b.number) };
  }

  /** Calls found with the index of each shown character and its place in the source. */
  #follow(shown: string, found: (k: number, at: number) => void) {
    if (this.#next === this.marks.length || shown === "") return;
    const whole = this.source.slice(this.#cursor, this.#cursor + 4096 + shown.length).indexOf(shown);
    const near = whole >= 0, first = this.#cursor + whole;
    for (let k = 0; k < shown.length && this.#next < this.marks.length; k++) {
      const at = near ? first + k : this.source.slice(this.#cursor, this.#cursor + 64).indexOf(shown[k]!) + this.#cursor;
      if (at < this.#cursor) continue; // such as the character of an entity
      found(k, at);
      this.#cursor = at + 1;
    }
  }
}

// Hidden text: the end of a link or code, and markup between letters.
const closing = /\]\((?:[^()\n]|\([^()\n]*\))*\)|`+/uy;
const markup = /(?:\]\((?:[^()\n]|\([^()\n]*\))*\)|[^\p{L}\p{N}])*/uy;
