// SPDX-License-Identifier: Apache-2.0

/** What of a keyboard event decides whether it is a shortcut. */
export type Press = Pick<KeyboardEvent, "key" | "altKey" | "ctrlKey" | "metaKey" | "shiftKey" | "repeat" | "isComposing" | "keyCode" | "target" | "composedPath" | "getModifierState">;

/** Whether it is a machine of Apple, on which Alt types characters. Control is used there. */
export function isApple(platform: string): boolean {
  return /^(Mac|iP)/.test(platform);
}

/** What a shortcut is called on this machine. */
export function modifier(apple: boolean): "Alt" | "Ctrl" {
  return apple ? "Ctrl" : "Alt";
}

/**
 * The letter that is pressed as a shortcut, by what it types and not by its place on the keyboard, or the empty string. What is pressed in a text
 * field, while characters are composed, or with AltGr is no shortcut.
 */
export function shortcut(ev: Press, apple: boolean): string {
  if (composes(ev) || ev.repeat || ev.metaKey || ev.shiftKey || ev.getModifierState("AltGraph") || isTyping(ev)) return "";
  if (apple ? !ev.ctrlKey || ev.altKey : !ev.altKey || ev.ctrlKey) return "";
  return /^[a-z]$/i.test(ev.key) ? ev.key.toLowerCase() : "";
}

/** Whether a key composes characters. In Safari, the key that ends a composition comes after its end, with the code of composed keys. */
export function composes(ev: Pick<KeyboardEvent, "isComposing" | "keyCode">): boolean {
  return ev.isComposing || ev.keyCode === 229;
}

/** Whether what is pressed goes into a field, which may be inside of an element that an extension has added. */
export function isTyping(ev: Pick<KeyboardEvent, "target" | "composedPath">): boolean {
  const el = (ev.composedPath()[0] ?? ev.target) as Partial<Element> | null;
  return typeof el?.closest === "function" && el.closest('input, textarea, select, [contenteditable]:not([contenteditable="false"])') !== null;
}

/** Whether a key that is held down would send, allow or stop something again. */
export function isHeld(ev: Pick<KeyboardEvent, "key" | "repeat" | "shiftKey">): boolean {
  return ev.repeat && !ev.shiftKey && (ev.key === "Enter" || ev.key === "Escape");
}
