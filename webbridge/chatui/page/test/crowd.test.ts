// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Channel, Crowd, MOST } from "../src/client/crowd.ts";

/** Tabs of one browser. */
class Browser {
  channels = new Set<Channel>();
  open(): Channel {
    const c: Channel = {
      onmessage: null,
      postMessage: (data: unknown) => {
        for (const other of this.channels) if (other !== c) other.onmessage?.call(other as BroadcastChannel, { data } as MessageEvent);
      },
      close: () => this.channels.delete(c),
    };
    this.channels.add(c);
    return c;
  }
}

test("a few tabs follow all the time: those that were looked at last", () => {
  const browser = new Browser();
  const changes: number[] = [];
  const tabs = Array.from({ length: 8 }, (_, i) => new Crowd(browser.open(), () => changes.push(i)));
  const gone = new Set<number>();
  const following = () => tabs.flatMap((t, i) => (t.full || gone.has(i) ? [] : [i]));
  for (const t of tabs) t.look();
  assert.deepEqual(following(), [6, 7].slice(-MOST));
  tabs[0]!.look();
  assert.deepEqual(following(), [0, 7]);
  assert.deepEqual(changes.slice(-2).sort(), [0, 6], "who begins and who stops is told");
  tabs[0]!.look();
  tabs[0]!.look();
  assert.deepEqual(following(), [0, 7], "one tab is one, however often it is looked at");
  tabs[7]!.leave();
  gone.add(7);
  assert.deepEqual(following(), [0, 6], "the next one takes its place");
  tabs[0]!.close();
  gone.add(0);
  assert.deepEqual(following(), [5, 6]);
  for (const wrong of [null, 5, {}, { tab: 1, on: true }]) browser.open().postMessage(wrong);
  assert.deepEqual(following(), [5, 6], "what is no message of a tab");
  assert.equal(new Crowd(undefined, () => undefined).full, false, "a browser without channels");
});
