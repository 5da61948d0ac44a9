// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isApple, isHeld, modifier, shortcut, type Press } from "../src/client/keys.ts";

const press = (p: Partial<Press> & { code?: string; altGraph?: boolean }): Press => ({
  key: "y", altKey: false, ctrlKey: false, metaKey: false, shiftKey: false, repeat: false, isComposing: false, keyCode: 0, target: null, composedPath: () => [],
  getModifierState: (k: string) => k === "AltGraph" && p.altGraph === true, ...p,
}) as Press;
const within = (...selectors: string[]) => ({ closest: (s: string) => (selectors.some((one) => s.includes(one)) ? {} : null) }) as unknown as EventTarget;

test("a shortcut is what the key types, wherever it is", () => {
  assert.equal(shortcut(press({ altKey: true }), false), "y");
  assert.equal(shortcut(press({ altKey: true, key: "Y" }), false), "y", "with caps lock");
  assert.equal(shortcut(press({ altKey: true, key: "y", code: "KeyZ" }), false), "y", "on a German keyboard");
  assert.equal(shortcut(press({ altKey: true, key: "z", code: "KeyY" }), false), "z", "on a German keyboard");
  assert.equal(shortcut(press({ altKey: true, target: within() }), false), "y");
});

test("what types characters is no shortcut", () => {
  for (const p of [
    {}, { ctrlKey: true }, { altKey: true, ctrlKey: true }, { altKey: true, metaKey: true }, { altKey: true, shiftKey: true }, { altKey: true, repeat: true },
    { altKey: true, isComposing: true }, { altKey: true, keyCode: 229 }, { altKey: true, altGraph: true }, { altKey: true, key: "Dead", code: "KeyY" }, { altKey: true, key: "Process", code: "KeyY" },
    { altKey: true, key: "ç", code: "KeyC" }, { altKey: true, key: "¥", code: "KeyY" }, { altKey: true, key: "Unidentified" }, { altKey: true, key: "" },
    ...["input", "textarea", "select", "[contenteditable]"].flatMap((s) => [{ altKey: true, target: within(s) }, { altKey: true, target: within(), composedPath: () => [within(s)] }]),
  ]) assert.equal(shortcut(press(p), false), "", JSON.stringify(p));
});

test("Control takes the place of Option, which types characters", () => {
  assert.ok(isApple("MacIntel") && isApple("iPhone") && !isApple("Win32") && !isApple("Linux x86_64"));
  assert.deepEqual([modifier(true), modifier(false)], ["Ctrl", "Alt"]);
  assert.equal(shortcut(press({ ctrlKey: true }), true), "y");
  for (const p of [{ altKey: true }, { altKey: true, key: "ç", code: "KeyC" }, { altKey: true, ctrlKey: true }, { ctrlKey: true, target: within("textarea") }]) {
    assert.equal(shortcut(press(p), true), "");
  }
});

test("a key that is held down sends, allows and stops nothing again", () => {
  for (const key of ["Enter", "Escape"]) {
    assert.ok(isHeld(press({ key, repeat: true })));
    assert.ok(!isHeld(press({ key })));
    assert.ok(!isHeld(press({ key, repeat: true, shiftKey: true })), "which begins a line");
  }
  assert.ok(!isHeld(press({ key: "a", repeat: true })));
});
