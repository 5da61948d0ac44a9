// SPDX-License-Identifier: Apache-2.0

// Characters that are invisible, or change the order of what is around them: they can make text look like something else. The joiners
// and variation selectors that emoji and scripts need are not among them, except where text is shown exactly.
const deceptive = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const invisible = /[\u0000-\u0008\u000b\u000c\u000d\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e01ef}]/gu;

function name(c: string): string {
  return "⟨U+" + c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0") + "⟩";
}

/** Prose, with the characters that deceive shown by their code. */
export function prose(s: string): string {
  return s.replace(deceptive, name);
}

/** Text that must be shown exactly, such as what is to be approved: every invisible character is shown by its code. */
export function exact(s: string): string {
  return s.replace(invisible, name);
}

/** One line of text for a title. */
export function line(s: string): string {
  return prose(s.replace(/[\s\u2028\u2029]+/g, " ").trim());
}

/** A link that may be followed, with the host that it goes to. Other schemes, and addresses with a password, are refused. */
export function link(href: string): { href: string; host: string } | undefined {
  let u: URL;
  try {
    u = new URL(href.trim());
  } catch {
    return undefined;
  }
  if (u.username || u.password) return undefined;
  if (u.protocol === "http:" || u.protocol === "https:") return { href: u.href, host: u.host };
  if (u.protocol === "mailto:") return { href: u.href, host: u.href };
  return undefined;
}

const images = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The data: URL of an image that is shown, or undefined. Only pictures that cannot carry scripts are. */
export function imageURL(mime: string | undefined, data: string | undefined): string | undefined {
  if (!mime || !data || !images.has(mime.toLowerCase()) || !/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(data)) return undefined;
  return `data:${mime.toLowerCase()};base64,${data.replace(/\s/g, "")}`;
}

// Sequences that terminals understand: colours, cursor movements, titles.
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g;

/** The output of a command as it looks at the end: without escape sequences, and with lines that were written over replaced. */
export function terminal(s: string): string {
  const plain = s.replace(escapes, "").replace(/\r\n/g, "\n");
  if (!plain.includes("\r")) return exact(plain);
  return exact(plain.split("\n").map((l) => l.slice(l.lastIndexOf("\r", l.length - 2) + 1).replace(/\r$/, "")).join("\n"));
}

/** JSON for people. */
export function pretty(v: unknown): string {
  return typeof v === "string" ? v : (JSON.stringify(v, null, 2) ?? "");
}

export function plural(n: number, one: string): string {
  return `${n} ${one}${n === 1 ? "" : "s"}`;
}
