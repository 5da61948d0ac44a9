// SPDX-License-Identifier: Apache-2.0
import MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";
import { createElement, memo, useMemo, type ReactNode } from "react";
import { imageURL, link, prose } from "../client/text.ts";
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

/** Makes elements of the tokens from at to the one that closes the element, and says where it stopped. */
function build(tokens: Token[], at: number): [ReactNode[], number] {
  const all: ReactNode[] = [];
  while (at < tokens.length) {
    const t = tokens[at]!;
    if (t.nesting < 0) return [all, at + 1];
    if (t.nesting > 0) {
      const [children, next] = build(tokens, at + 1);
      all.push(element(t, children, all.length, textOf(tokens, at + 1, next)));
      at = next;
      continue;
    }
    all.push(leaf(t, all.length));
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
  // The headings of a message are below those of the page.
  const tag = /^h[1-6]$/.test(t.tag) ? "h" + Math.min(6, Number(t.tag[1]) + 2) : t.tag;
  if (tag !== t.tag) props["className"] = t.tag;
  const made = createElement(tag, props, ...children);
  return t.tag === "table" ? <div key={key} className="table" tabIndex={0} role="group" aria-label="Table">{made}</div> : made;
}

function leaf(t: Token, key: number): ReactNode {
  switch (t.type) {
    case "inline":
      return <span key={key} className="inline">{build(t.children ?? [], 0)[0]}</span>;
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
    default:
      return prose(t.content);
  }
}

/** The tokens of each block of a text, with its source. */
function blocks(text: string): { source: string; tokens: Token[] }[] {
  const tokens = md.parse(text, {});
  const lines = text.split("\n");
  const all: { source: string; tokens: Token[] }[] = [];
  for (let i = 0; i < tokens.length; ) {
    let end = i, depth = 0;
    do depth += tokens[end++]!.nesting;
    while (depth > 0 && end < tokens.length);
    const map = tokens[i]!.map;
    all.push({ source: map ? lines.slice(map[0], map[1]).join("\n") : "", tokens: tokens.slice(i, end) });
    i = end;
  }
  return all;
}

// A block is made again only if its source changes: of a text that streams that is the last one. One that refers to a definition
// elsewhere shows it when its own source changes.
const Block = memo(
  function Block({ tokens }: { source: string; tokens: Token[] }) {
    return <>{build(tokens, 0)[0]}</>;
  },
  (a, b) => a.source === b.source && a.source !== "" && !a.source.includes("["),
);

/** Markdown of a model, shown as elements. No HTML is made of it at any point. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const all = useMemo(() => blocks(text), [text]);
  return <div className="markdown">{all.map((b, i) => <Block key={i} {...b} />)}</div>;
});
