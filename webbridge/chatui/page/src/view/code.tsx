// SPDX-License-Identifier: Apache-2.0
import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { memo, useRef, useState, type ReactNode } from "react";
import { exact } from "../client/text.ts";

const low = createLowlight({
  bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown, php, python, ruby, rust, sql, swift,
  typescript, xml, yaml,
});
low.registerAlias({ bash: ["shell", "console"], ini: ["toml"], javascript: ["jsx"], typescript: ["tsx"] });

/** Longer texts are shown without colours: each colour is an element. */
const longest = 40_000;

interface Node { type: string; value?: string; children?: Node[]; properties?: { className?: string[] } }

function elements(nodes: Node[]): ReactNode[] {
  return nodes.map((n, i) => (n.type === "text" ? n.value : <span key={i} className={n.properties?.className?.join(" ")}>{elements(n.children ?? [])}</span>));
}

/** Code with colours, as elements. No HTML is made. */
export const Highlighted = memo(function Highlighted({ text, language }: { text: string; language: string }) {
  const shown = exact(text);
  if (shown.length > longest || !low.registered(language)) return <>{shown}</>;
  return <>{elements(low.highlight(language, shown).children as Node[])}</>;
});

const names: Record<string, string> = {
  h: "c", cc: "cpp", hpp: "cpp", cs: "csharp", mjs: "javascript", cjs: "javascript", mod: "go", md: "markdown", py: "python", rb: "ruby", rs: "rust",
  kt: "kotlin", sh: "bash", yml: "yaml", html: "xml", svg: "xml", mk: "makefile",
};

/** The language of a file, by its name. */
export function languageOf(path: string): string {
  const file = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const end = file.slice(file.lastIndexOf(".") + 1);
  return names[end] ?? end;
}

/** A block of code with a button that copies it. */
export const CodeBlock = memo(function CodeBlock({ text, language }: { text: string; language: string }) {
  return (
    <figure className="code">
      <figcaption>
        <span>{exact(language) || "text"}</span>
        <Copy text={text} />
      </figcaption>
      <pre tabIndex={0} aria-label={(language || "text") + " code"}>
        <code><Highlighted text={text.replace(/\n$/, "")} language={language.toLowerCase()} /></code>
      </pre>
    </figure>
  );
});

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setDone(false), 1500);
    } catch {
      // the browser does not allow it
    }
  };
  return <button type="button" className="quiet small" onClick={copy}>{done ? "Copied" : label}</button>;
}
