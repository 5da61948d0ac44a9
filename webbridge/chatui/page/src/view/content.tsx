// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "react";
import { exact, imageURL, pretty, prose, terminal } from "../client/text.ts";
import type { Mark, Source } from "../client/cites.ts";
import type { Content, Entity } from "../client/types.ts";
import { Copy, Highlighted, languageOf } from "./code.tsx";
import { usePage } from "./context.ts";
import { DiffView } from "./diff.tsx";
import { StatusMark } from "./icons.tsx";
import { Link, Markdown } from "./markdown.tsx";

/** A piece of content. Text is Markdown in messages, and shown as it is elsewhere. Whole says that nothing may be left out. */
export function Piece({ c, as, whole, marks, source }: { c: Content; as: "markdown" | "plain"; whole?: boolean; marks?: readonly Mark[]; source?: Source }) {
  const page = usePage();
  switch (c.kind) {
    case "text":
      return as === "markdown" ? <Markdown text={c.text ?? ""} marks={marks} /> : <Plain text={c.text ?? ""} whole={whole} />;
    case "image": {
      const url = imageURL(c.mime_type, c.data);
      if (url) return <a className="thumb" href={url} download={c.name || "image"} title="Save the image"><img src={url} alt={prose(c.name ?? "") || "Image"} /></a>;
      if (c.uri) return <p className="remote">Image not loaded: <Link href={c.uri} text="">{prose(c.name || "image")}</Link></p>;
      return <p className="note">An image of the type {prose(c.mime_type ?? "") || "unknown"} is not shown.</p>;
    }
    case "audio":
      if (c.data && /^audio\/[\w.+-]+$/.test(c.mime_type ?? "")) return <audio controls src={`data:${c.mime_type};base64,${c.data}`} />;
      return <p className="note">Audio is not shown.</p>;
    case "link":
      return <p className={source && "source"}>{source && <span className="number">[{source.number}] </span>}<Link href={c.uri ?? ""} text={c.name ?? ""}>{prose(c.name || c.uri || "link")}</Link></p>;
    case "resource":
      return (
        <Fold id={"resource:" + (c.uri ?? c.name)} title={prose(c.name || c.uri || "File")}>
          {c.text !== undefined ? <Plain text={c.text} language={languageOf(c.uri ?? "")} whole={whole} /> : <p className="note">{prose(c.mime_type ?? "")} data, not shown.</p>}
        </Fold>
      );
    case "diff":
      return c.diff ? <DiffView change={c.diff} whole={whole} wide={page.wide} /> : null;
    case "command": {
      const command = page.get(c.ref ?? "");
      return command ? <CommandView e={command} /> : null;
    }
  }
  return <Plain text={pretty(c.raw ?? c)} language="json" whole={whole} />;
}

const most = 20_000;

/** Text that is shown as it is. Of a long one the beginning, until more is asked for. */
export function Plain({ text, language = "", whole }: { text: string; language?: string; whole?: boolean }) {
  const [all, setAll] = useState(false);
  const cut = !whole && !all && text.length > most;
  return (
    <div className="plain">
      <pre tabIndex={0} dir="ltr" aria-label="Text">{language ? <Highlighted text={cut ? text.slice(0, most) : text} language={language} /> : exact(cut ? text.slice(0, most) : text)}</pre>
      {cut && <button type="button" className="quiet small" onClick={() => setAll(true)}>Show all {Math.round(text.length / 1000)} kB</button>}
    </div>
  );
}

/** Something that unfolds. */
export function Fold({ id, title, children, initially = false }: { id: string; title: React.ReactNode; children: React.ReactNode; initially?: boolean }) {
  const page = usePage();
  const [, again] = useState(0);
  const open = page.opened(id) ?? initially;
  const toggle = () => {
    page.open(id, !open);
    again((n) => n + 1);
  };
  return (
    <div className="fold">
      <button type="button" className="quiet unfold" aria-expanded={open} onClick={toggle}>{title}</button>
      {open && <div className="folded">{children}</div>}
    </div>
  );
}

/** A command and its output, which follows what comes as long as its end is in sight. */
export function CommandView({ e }: { e: Entity }) {
  const text = (e.content ?? []).map((c) => c.text ?? "").join("");
  const code = e.exit ? (e.exit.signal ? "ended by " + exact(e.exit.signal) : "exit " + e.exit.code) : "";
  return (
    <figure className="terminal">
      <figcaption>
        <StatusMark status={e.exit && e.exit.code !== 0 ? "failed" : e.status} />
        <code dir="ltr">{exact(e.title ?? "")}</code>
        <span className="dim">{code}</span>
        {text && <Copy text={text} />}
      </figcaption>
      {text && <Tail text={terminal(text)} label={"Output of " + exact(e.title ?? "the command")} />}
    </figure>
  );
}

const tail = 60_000;

export function Tail({ text, label }: { text: string; label: string }) {
  const ref = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  const [all, setAll] = useState(false);
  useEffect(() => {
    if (ref.current && atEnd.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, [text]);
  const cut = !all && text.length > tail;
  return (
    <>
      {cut && <button type="button" className="quiet small" onClick={() => setAll(true)}>Show all {Math.round(text.length / 1000)} kB</button>}
      <pre
        ref={ref} className="tail" tabIndex={0} dir="ltr" role="region" aria-label={label}
        onScroll={(ev) => (atEnd.current = ev.currentTarget.scrollHeight - ev.currentTarget.scrollTop - ev.currentTarget.clientHeight < 24)}
      >{cut ? text.slice(-tail) : text}</pre>
    </>
  );
}
