// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { citations, type Mark } from "../src/client/cites.ts";
import type { Content } from "../src/client/types.ts";
import { Markdown } from "../src/view/markdown.tsx";

const text = (text: string): Content => ({ kind: "text", text });
const source = (uri: string, name: string, ...cites: [number, number][]): Content => ({ kind: "link", uri, name, cites: cites.map(([start, end]) => ({ start, end })) });
const places = (marks: readonly Mark[] | undefined) => (marks ?? []).map((m) => `${m.at}:${m.sources.map((s) => s.number).join(",")}`).join(" ");

/** What a reader sees of a text whose passages are cited, each by a source of its own. */
function shown(markdown: string, ...passages: string[]): string {
  const bytes = (s: string) => new TextEncoder().encode(s).length;
  const all = [text(markdown), ...passages.map((p, i) => {
    const start = bytes(markdown.slice(0, markdown.indexOf(p)));
    return source(`https://s${i + 1}.test/`, `S${i + 1}`, [start, start + bytes(p)]);
  })];
  const html = renderToStaticMarkup(createElement(Markdown, { text: markdown, marks: citations(all).marks.get(all[0]!) }));
  return html.replace(/<(\/?)(p|li|h\d|td|th|pre|a|strong|em|code)\b[^>]*>/g, "<$1$2>").replace(/<\/?(div|span|sup|ul|ol|tr|thead|tbody|table|figure|figcaption|button|svg|path)\b[^>]*>/g, "").replace(/<a>(\[\d+\])<\/a>/g, "$1").replace(/\s+/g, " ");
}

test("places in bytes become places in the text", () => {
  const a = text("Größe 🌧: tea."), b = text(" More."), image: Content = { kind: "image" };
  const one = source("https://a.test/", "A", [14, 18]), two = source("https://b.test/", "B", [0, 7], [14, 18], [20, 24]);
  const c = citations([a, image, one, b, two]);
  assert.equal(places(c.marks.get(a)), "5:2 14:1,2");
  assert.equal(places(c.marks.get(b)), "6:2");
  assert.deepEqual([c.sources.get(one)!.number, c.sources.get(two)!.number], [1, 2]);
});

test("places that are none are left out", () => {
  const t = text("e\u0301🌧.");
  for (const cites of [[[-1, 2]], [[2, 2]], [[3, 1]], [[0, 99]], [[0.5, 1]], [["0", "1"]], [[null, {}]], []]) {
    const c = citations([t, source("https://a.test/", "A", ...(cites as [number, number][]))]);
    assert.equal(c.sources.size, 0, JSON.stringify(cites));
    assert.equal(c.marks.size, 0);
  }
  assert.equal(citations([t, { kind: "link", uri: "https://a.test/", cites: "x" as never }, { kind: "link", cites: [null] as never }]).sources.size, 0);
  assert.equal(places(citations([t, source("https://a.test/", "A", [0, 1], [0, 5])]).marks.get(t)), "2:1 4:1", "no character is divided");
  const long = text("a".repeat(5000));
  assert.equal(citations([long, source("https://a.test/", "A", ...Array.from({ length: 5000 }, (_, i): [number, number] => [i, i + 1]))]).marks.get(long)!.length, 500);
});

test("only addresses of the web become links of marks", () => {
  for (const [uri, href] of [["https://a.test/?a=1", "https://a.test/?a=1"], ["javascript:alert(1)", undefined], ["mailto:a@b.test", undefined], ["https://u:p@a.test/", undefined], ["file:///x", undefined], ["", undefined]]) {
    const c = citations([text("Tea."), source(uri!, "<b>A</b>", [0, 4])]);
    assert.equal([...c.sources.values()][0]!.href, href);
  }
  const all = [text("Tea."), source("javascript:alert(1)", "A", [0, 4]), source("https://b.test/", '"><img src=x>\u202e', [0, 4])];
  const html = renderToStaticMarkup(createElement(Markdown, { text: "Tea.", marks: citations(all).marks.get(all[0]!) }));
  assert.match(html, /Tea\.<sup class="cite">\[1\]<\/sup><sup class="cite"><a href="https:\/\/b\.test\/" /);
  assert.doesNotMatch(html, /javascript|<img|\u202e/);
});

test("marks stand at the end of what is cited, and markup stays whole", () => {
  for (const [markdown, passages, want] of [
    ["Tea is green. It grows.", ["Tea is green.", "It grows."], "<p>Tea is green.[1] It grows.[2]</p>"],
    ["Tea is **green**. Yes.", ["Tea is **green**", "green"], "<p>Tea is <strong>green</strong>[1][2]. Yes.</p>"],
    ["Tea **is green** here.", ["**is"], "<p>Tea <strong>is[1] green</strong> here.</p>"],
    ["One.\n\nTwo.\n", ["One.\n\n", "Two.\n"], "<p>One.[1]</p> <p>Two.[2]</p>"],
    ["- one\n- two\n", ["one\n- ", "two"], "<li>one[1]</li><li>two[2]</li>"],
    ["1. one\n2. two\n", ["one", "2. two"], "<li>one[1]</li><li>two[2]</li>"],
    ["# Head\ntext", ["# Head", "text"], "<h3>Head[1]</h3><p>text[2]</p>"],
    ["See [the page](https://x.test/a(b)).\n\nMore.", ["[the page](https://x.test/a(b))", "page"], "<p>See <a>the page</a> (x.test)[1][2].</p><p>More.</p>"],
    ["See ([x.test](https://x.test/))\n\nMore.", ["([x.test](https://x.test/))"], "<p>See (<a>x.test</a> (x.test))[1]</p><p>More.</p>"],
    ["Call `a b c` now.", ["a b", "now"], "<p>Call <code>a b c</code>[1] now[2].</p>"],
    ["A &amp; B \\* C.\n\nD.", ["&amp;", "\\* C.", "D."], "<p>A &amp;[1] B * C.[2]</p><p>D.[3]</p>"],
    ["| a | b |\n|---|---|\n| one | two |\n", ["a", "one", "two"], "<th>a[1]</th><th>b</th><td>one[2]</td><td>two[3]</td>"],
    ["Größe 🌧 ok.", ["Größe", "🌧"], "<p>Größe[1] 🌧[2] ok.</p>"],
    ["a\u202eb c", ["a\u202eb"], "<p>a⟨U+202E⟩b[1] c</p>"],
    ["one\ntwo three", ["one\ntwo"], "<p>one two[1] three</p>"],
    ["<b>x</b> y", ["<b>x</b>"], "<p>&lt;b&gt;x&lt;/b&gt;[1] y</p>"],
  ] as [string, string[], string][]) assert.equal(shown(markdown, ...passages).replace(/> </g, "><"), want.replace(/> </g, "><"), markdown);
});

test("a mark in a block of code stands behind it", () => {
  const html = shown("```go\nfunc main() {}\n```\n\nText.", "main()", "Text.");
  assert.match(html, /main.*<\/pre>.*<p>\[1\]<\/p><p>Text\.\[2\]<\/p>$/);
});

test("what is cited is shown as it is without marks", () => {
  const texts = ["*a_ ".repeat(300), "[".repeat(300) + "x" + "]".repeat(300), "> ".repeat(50) + "deep", "a\r\nb\rc\u0000d", "[ref]\n\n[ref]: https://x.test/", "| a |\n|---|\n| `x|y` |", "&#97;&copy;&amp;x", "\\*\\*", "```\n", "http://x.test/a_b_c and *b*"];
  for (const t of texts) {
    const all = [text(t), ...Array.from({ length: Math.min(t.length, 400) }, (_, i) => source("https://a.test/" + i, "A", [i, i + 1]))];
    const marks = citations(all).marks.get(all[0]!);
    const plain = renderToStaticMarkup(createElement(Markdown, { text: t }));
    const cited = renderToStaticMarkup(createElement(Markdown, { text: t, marks }));
    assert.equal(cited.replace(/<sup class="cite">.*?<\/sup>/g, "").replaceAll("<p></p>", ""), plain.replaceAll("<p></p>", ""), t.slice(0, 20));
    assert.equal(cited.split("<sup").length - 1, [...citations(all).sources].length, "each mark is shown once: " + t.slice(0, 20));
  }
});
