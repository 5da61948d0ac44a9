// SPDX-License-Identifier: Apache-2.0

/** What of a keyboard event decides whether it is a shortcut. */
export type Press = Pick<KeyboardEvent, "key" | "altKey" | "ctrlKey" | "metaKey" | "shiftKey" | "repeat" | "isComposing" | "keyCode" | "target" | "getModifierState">;

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
  if (composes(ev) || ev.repeat || ev.metaKey || ev.shiftKey || ev.getModifierState("AltGraph") || isTyping(ev.target)) return "";
  if (apple ? !ev.ctrlKey || ev.altKey : !ev.altKey || ev.ctrlKey) return "";
  return /^[a-z]$/i.test(ev.key) ? ev.key.toLowerCase() : "";
}

/** Whether a key composes characters. In Safari, the key that ends a composition comes after its end, with the code of composed keys. */
export function composes(ev: Pick<KeyboardEvent, "isComposing" | "keyCode">): boolean {
  return ev.isComposing || ev.keyCode === 229;
}

/** Whether what is pressed goes into a field. */
export function isTyping(target: EventTarget | null): boolean {
  const el = target as Partial<Element> | null;
  return typeof el?.closest === "function" && el.closest('input, textarea, select, [contenteditable]:not([contenteditable="false"])') !== null;
}
