// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, type Row } from "../src/client/diff.ts";
import { fieldsOf, valueOf } from "../src/client/schema.ts";
import { exact, imageURL, line, link, prose, terminal } from "../src/client/text.ts";

test("only links that lead somewhere honest can be followed", () => {
  for (const bad of [
    "javascript:alert(1)", " JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "\u0001javascript:alert(1)", "data:text/html,x", "vbscript:x", "blob:http://x/y",
    "file:///etc/passwd", "//x.example/", "/relative", "relative", "", "https://bank.example@evil.example/", "https://:pw@evil.example/", "http://",
  ]) assert.equal(link(bad), undefined, bad);
  assert.deepEqual(link("https://example.com/a?b#c"), { href: "https://example.com/a?b#c", host: "example.com" });
  assert.equal(link("https://аррle.example/")!.host.startsWith("xn--"), true, "letters of other scripts are seen");
  assert.equal(link("mailto:a@example.com")!.host, "mailto:a@example.com");
});

test("invisible characters and direction marks are shown by their code", () => {
  assert.equal(prose("a\u202eb"), "a⟨U+202E⟩b");
  assert.equal(prose("\u2066\u200b\ufeff\u0000\u{e0041}"), "⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩⟨U+0000⟩⟨U+E0041⟩");
  assert.equal(prose("👩‍💻 é नि\tx\ny"), "👩‍💻 é नि\tx\ny", "what scripts and emoji need stays");
  assert.equal(exact("a\u200db\ufe0f\r"), "a⟨U+200D⟩b⟨U+FE0F⟩⟨U+000D⟩");
  assert.equal(line(" a\n\u2028 b\t"), "a b");
});

test("only pictures that cannot run scripts are shown", () => {
  assert.equal(imageURL("image/png", "AA=="), "data:image/png;base64,AA==");
  for (const [mime, data] of [["image/svg+xml", "AA=="], ["text/html", "AA=="], ["image/png", '"x'], ["image/png", ""], [undefined, "AA=="], ["image/png;x", "AA=="]]) assert.equal(imageURL(mime, data), undefined);
});

test("escape sequences of terminals are left out", () => {
  assert.equal(terminal("\u001b[31mred\u001b[0m \u001b]0;title\u0007x\u001b]8;;http://e\u001b\\l"), "red xl");
  assert.equal(terminal("10%\r50%\r100%\ndone\r\n"), "100%\ndone\n");
  assert.equal(terminal("a\u0008b"), "a⟨U+0008⟩b");
});

const flat = (rows: Row[]): string[] => rows.flatMap((r) => {
  if (r.kind === "gap") return [`… ${r.rows.length}`];
  const side = (s?: { line: number; spans: { text: string; changed: boolean }[] }) => (s ? s.line + s.spans.map((x) => (x.changed ? `[${x.text}]` : x.text)).join("") : "-");
  return [r.kind === "same" ? "=" + side(r.left) : side(r.left) + " | " + side(r.right)];
});

test("diffs pair lines, mark words and leave out what is alike", () => {
  const before = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join("");
  const after = before.replace("line 10\n", "line ten\n").replace("line 20\n", "");
  const d = compare(before, after);
  assert.deepEqual(flat(d.rows), [
    "… 6", "=7line 7", "=8line 8", "=9line 9", "10line [10] | 10line [ten]", "=11line 11", "=12line 12", "=13line 13", "… 3", "=17line 17", "=18line 18", "=19line 19", "20line 20 | -",
  ]);
  assert.deepEqual([d.added, d.removed], [1, 2]);
});

test("diffs of new, empty and equal files", () => {
  assert.deepEqual(flat(compare(null, "a\nb").rows), ["- | 1a", "- | 2b"]);
  assert.deepEqual(flat(compare("a\n", "").rows), ["1a | -"]);
  assert.deepEqual(compare("", "").rows, []);
  assert.equal(compare("a\nb", "a\nb\n").note, "The last line gets a line end.");
  assert.deepEqual(flat(compare("a\r\n", "a\n").rows).length, 1, "a change of line ends is a change");
});

// Everything that is approved must be on the screen: no line of either text may be missing from the
// rows.
test("diffs lose no line", () => {
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 300; round++) {
    const text = () => Array.from({ length: random(30) }, () => "abc"[random(3)]! + random(4)).join("\n") + (random(2) ? "\n" : "");
    const a = text(), b = text();
    const rows = compare(a, b).rows.flatMap((r) => (r.kind === "gap" ? r.rows : [r]));
    const side = (s: "left" | "right") => rows.flatMap((r) => (r.kind !== "gap" && r[s] ? [r[s].spans.map((x) => x.text).join("")] : []));
    const lines = (s: string) => (s === "" ? [] : s.replace(/\n$/, "").split("\n"));
    assert.deepEqual(side("left"), lines(a));
    assert.deepEqual(side("right"), lines(b));
  }
});

test("flat schemas are forms", () => {
  const fields = fieldsOf({
    type: "object", required: ["n", "k"],
    properties: { n: { type: "integer", title: "N" }, k: { type: "string", enum: ["a", "b"] }, o: { oneOf: [{ const: "x", title: "X" }] }, m: { type: "array", items: { enum: ["p", "q"] } }, b: { type: "boolean", default: true }, s: { type: "string", format: "email" } },
  })!;
  assert.deepEqual(fields.map((f) => [f.name, f.type, f.input, f.initial]), [
    ["n", "integer", "number", ""], ["k", "string", "text", ""], ["o", "string", "text", ""], ["m", "several", "text", []], ["b", "boolean", "text", "true"], ["s", "string", "email", ""],
  ]);
  assert.deepEqual(valueOf(fields, { n: "3", k: "a", o: "", m: ["p"], b: "true", s: "" }), { n: 3, k: "a", m: ["p"], b: true });
  assert.deepEqual(valueOf(fields, { n: "3", k: "a", m: [], b: "false" }), { n: 3, k: "a", b: false }, "an optional choice of several may be left out");
  assert.deepEqual(valueOf(fields, { n: "3", k: "a", b: "" }), { n: 3, k: "a" }, "an optional box that was not touched answers nothing");
  assert.throws(() => valueOf(fields, { n: "1.5", k: "a" }), /Not a number: N/);
  assert.throws(() => valueOf(fields, { n: "9007199254740993", k: "a" }), /Too many digits: N/);
  assert.throws(() => valueOf(fields, { n: "", k: "a" }), /Missing: N/);
  assert.equal(fieldsOf({ type: "object", properties: { x: { type: "object" } } }), undefined);
  assert.deepEqual(fieldsOf({}), []);
  const boxes = fieldsOf({ required: ["r"], properties: { r: { type: "boolean" }, d: { type: "boolean", default: false }, t: { type: "boolean", default: true }, o: { type: "boolean" } } })!;
  assert.deepEqual(valueOf(boxes, Object.fromEntries(boxes.map((f) => [f.name, f.initial]))), { r: false, d: false, t: true }, "boxes as they are shown first");
  const listed = fieldsOf({ properties: { n: { type: "integer", enum: [1, 2] }, c: { type: "string", const: "yes" }, x: { type: "number", oneOf: [{ const: 0.5, title: "Half" }] } } })!;
  assert.deepEqual(listed.map((f) => f.choices), [
    [{ value: "1", title: "1" }, { value: "2", title: "2" }], [{ value: "yes", title: "yes" }], [{ value: "0.5", title: "Half" }],
  ]);
  assert.deepEqual(valueOf(listed, { n: "2", c: "yes", x: "0.5" }), { n: 2, c: "yes", x: 0.5 });
});
