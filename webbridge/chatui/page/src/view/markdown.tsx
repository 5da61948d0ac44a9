// SPDX-License-Identifier: Apache-2.0
import MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";
import { createElement, memo, useMemo, type ReactNode } from "react";
import { Places, type Mark } from "../client/cites.ts";
import { imageURL, line, link, prose } from "../client/text.ts";
import { CodeBlock } from "./code.tsx";

// HTML in the text is text. Links are checked when they are shown, so none is refused by the parser: a link that is refused shows its target.
const md = new MarkdownIt({ html: false, linkify: true, typographer: false });
md.validateLink = () => true;
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

const tags = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s"]);

/** A link that shows where it leads, if its text does not. Addresses that may not be followed are text. */
export function Link({ href, children, text }: { href: string; children: ReactNode; text: string }) {
  const safe = link(href);
  if (!safe) return <span className="badlink">{children} <span className="target">({prose(href).slice(0, 300)})</span></span>;
  const told = text.trim() === safe.href || text.trim() === href.trim() || text.trim() + "/" === safe.href;
  return (
    <>
      <a href={safe.href} target="_blank" rel="noopener noreferrer nofollow" title={safe.href}>{children}</a>
      {!told && <span className="target"> ({safe.host})</span>}
    </>
  );
}

/** An image of Markdown. Pictures inside the text are shown; those from elsewhere are links, and nothing loads them. */
function Image({ src, alt }: { src: string; alt: string }) {
  const inline = /^data:([a-z/+.-]+);base64,(.*)$/is.exec(src);
  const url = inline ? imageURL(inline[1], inline[2]) : undefined;
  if (url) return <img src={url} alt={prose(alt) || "Image"} />;
  if (/^data:/i.test(src)) return <span className="badlink">[image: {prose(alt) || "not shown"}]</span>;
  return <span className="remote">Image not loaded: <Link href={src} text="">{prose(alt) || "image"}</Link></span>;
}

/** The numbers of sources, as links to them. */
function Marks({ mark }: { mark: Mark }) {
  return mark.sources.map((s) => (
    <sup key={s.number} className="cite">
      {s.href ? <a href={s.href} target="_blank" rel="noopener noreferrer nofollow" title={`${line(s.name)} (${s.host})`} aria-label={`Source ${s.number}: ${line(s.name)}`}>[{s.number}]</a> : `[${s.number}]`}
    </sup>
  ));
}

function marked(mark: Mark | undefined, key: string): ReactNode[] {
  return mark ? [<Marks key={key} mark={mark} />] : [];
}

/** What tokens are made with: the places of marks, and where lines of the source begin. In a link there is no room for marks. */
interface Making { places?: Places; lines?: readonly number[]; link?: boolean }

/** Makes elements of the tokens from at to the one that closes the element, and says where it stopped. */
function build(tokens: Token[], at: number, m: Making): [ReactNode[], number] {
  const all: ReactNode[] = [];
  while (at < tokens.length) {
    const t = tokens[at]!;
    if (t.nesting < 0) return [all, at + 1];
    if (t.nesting > 0) {
      const linked = m.link || t.type === "link_open";
      const [children, next] = build(tokens, at + 1, linked === m.link ? m : { ...m, link: linked });
      all.push(element(t, children, all.length, textOf(tokens, at + 1, next)));
      if (linked && !m.link) all.push(...marked(m.places?.behind(), "marks" + at));
      at = next;
      continue;
    }
    all.push(leaf(t, all.length, m));
    if (t.type === "fence" || t.type === "code_block") {
      const marks = marked(m.places?.end(t.map ? m.lines?.[t.map[1]] : 0), "marks");
      if (marks.length) all.push(<p key={"marks" + at}>{marks}</p>);
    } else if (!m.link && (t.type === "code_inline" || t.type === "image")) all.push(...marked(m.places?.behind(), "marks" + at));
    at++;
  }
  return [all, at];
}

function textOf(tokens: Token[], from: number, to: number): string {
  let s = "";
  for (let i = from; i < to; i++) s += tokens[i]!.content;
  return s;
}

function element(t: Token, children: ReactNode[], key: number, text: string): ReactNode {
  if (t.type === "link_open") return <Link key={key} href={t.attrGet("href") ?? ""} text={text}>{children}</Link>;
  if (t.type === "paragraph_open" && t.hidden) return <span key={key} className="tight">{children}</span>;
  if (!tags.has(t.tag)) return <span key={key}>{children}</span>;
  const start = t.tag === "ol" ? Number(t.attrGet("start") ?? 1) : 1;
  const props: Record<string, unknown> = { key, dir: "auto" };
  if (start !== 1) props["start"] = start;
  if (t.tag === "th" || t.tag === "td") props["className"] = /right|center/.exec(t.attrGet("style") ?? "")?.[0];
  // The headings of a message are below the page's headings.
  const tag = /^h[1-6]$/.test(t.tag) ? "h" + Math.min(6, Number(t.tag[1]) + 2) : t.tag;
  if (tag !== t.tag) props["className"] = t.tag;
  const made = createElement(tag, props, ...children);
  return t.tag === "table" ? <div key={key} className="table" tabIndex={0} role="group" aria-label="Table">{made}</div> : made;
}

function leaf(t: Token, key: number, m: Making): ReactNode {
  if (t.type !== "text" || m.link) m.places?.over(t.content && t.type !== "inline" ? t.content : "");
  switch (t.type) {
    case "inline":
      return <span key={key} className="inline">{build(t.children ?? [], 0, m)[0]}{marked(m.places?.end(t.map ? m.lines?.[t.map[1]] : 0), "marks")}</span>;
    case "code_inline":
      return <code key={key} dir="ltr">{prose(t.content)}</code>;
    case "fence":
      return <CodeBlock key={key} text={t.content} language={(t.info.trim().split(/\s+/)[0] ?? "").slice(0, 40)} />;
    case "code_block":
      return <CodeBlock key={key} text={t.content} language="" />;
    case "hr":
      return <hr key={key} />;
    case "softbreak":
      return "\n";
    case "hardbreak":
      return <br key={key} />;
    case "image":
      return <Image key={key} src={t.attrGet("src") ?? ""} alt={t.content} />;
    case "text":
      if (!m.places || m.link) return prose(t.content);
      return m.places.within(t.content).map((p, i) => (typeof p === "string" ? prose(p) : <Marks key={key + "." + i} mark={p} />));
    default:
      return prose(t.content);
  }
}

interface BlockOf { source: string; tokens: Token[]; marks?: readonly Mark[]; lines?: readonly number[] }

/** The tokens of each block of a text, with its source, and the marks in it. */
function blocks(text: string, marks: readonly Mark[] | undefined): BlockOf[] {
  const tokens = md.parse(text, {});
  const lines = text.split("\n");
  const all: BlockOf[] = [];
  const first: number[] = []; // the line that each block begins with
  for (let i = 0; i < tokens.length; ) {
    let end = i, depth = 0;
    do depth += tokens[end++]!.nesting;
    while (depth > 0 && end < tokens.length);
    const map = tokens[i]!.map;
    all.push({ source: map ? lines.slice(map[0], map[1]).join("\n") : "", tokens: tokens.slice(i, end) });
    first.push(map ? map[0] : -1);
    i = end;
  }
  if (marks?.length) share(all, first, lines, marks);
  return all;
}

/** Gives each block its marks, with places in its source. */
function share(all: BlockOf[], first: readonly number[], lines: readonly string[], marks: readonly Mark[]) {
  const begins = [0]; // of lines, in the text
  for (const l of lines) begins.push(begins[begins.length - 1]! + l.length + 1);
  let b = -1;
  for (const mark of marks) {
    for (let n = b + 1; n < all.length; n++) {
      if (first[n]! >= 0 && begins[first[n]!]! < mark.at) b = n;
    }
    if (b < 0) continue;
    const block = all[b]!, begin = begins[first[b]!]!;
    block.lines ??= begins.map((at) => at - begin);
    block.marks = [...(block.marks ?? []), { ...mark, at: mark.at - begin }];
  }
}

// A block is made again only if its source changes: of a text that streams that is the last one. One that refers to a definition
// elsewhere shows it when its own source changes.
const Block = memo(
  function Block({ source, tokens, marks, lines }: BlockOf) {
    const places = marks && new Places(source, marks);
    const made = build(tokens, 0, { places, lines })[0];
    const rest = marked(places?.end(Infinity), "rest");
    return <>{made}{rest.length > 0 && <p>{rest}</p>}</>;
  },
  (a, b) => a.source === b.source && a.source !== "" && !a.source.includes("[") && a.marks === b.marks,
);

/** Markdown of a model, shown as elements. No HTML is made of it at any point. */
export const Markdown = memo(function Markdown({ text, marks }: { text: string; marks?: readonly Mark[] }) {
  const all = useMemo(() => blocks(text, marks), [text, marks]);
  return <div className="markdown">{all.map((b, i) => <Block key={i} {...b} />)}</div>;
});
