// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { thirty } from "./thirty.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails if axe-core finds something serious. */
async function accessible(page, assert) {
  // Trusted types keep the script out of the page itself; the evaluation of the debugger is not subject to them.
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = result.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  assert.deepEqual(serious.map((v) => [v.id, v.nodes.slice(0, 4).map((n) => n.html.slice(0, 200) + " " + n.failureSummary)]), []);
}

/** Reads a session from top to bottom, everything unfolded, and fails if any of its texts has become more than text. */
async function harmless(h, session) {
  const page = await h.open("#/s/" + session, { viewport: { width: 1400, height: 3000 } });
  const scroller = page.getByRole("region", { name: "Conversation" });
  await page.locator(".item").first().waitFor();
  await scroller.evaluate((el) => (el.scrollTop = 0));
  for (let last = -1, i = 0; ; i++) {
    h.assert.ok(i < 400, "the end is not reached");
    for (let depth = 0; depth < 5; depth++) {
      const unfolded = await page.evaluate(() => {
        const all = document.querySelectorAll(".scroller button.unfold[aria-expanded=false]");
        for (const b of all) b.click();
        return new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(all.length))));
      });
      if (unfolded === 0) break;
    }
    const found = await page.evaluate(() => {
      const bad = [];
      for (const el of document.querySelectorAll("#root *")) {
        if (/^(script|iframe|object|embed|style|link|base|meta|math|animate|frame|template)$/i.test(el.tagName)) bad.push(el.outerHTML);
        for (const a of el.attributes) {
          if (/^on|srcdoc|formaction/i.test(a.name)) bad.push(el.outerHTML);
          if (/^(href|src|action|xlink:href)$/i.test(a.name) && !/^(https?:|mailto:|#\/s\/|data:image\/(png|jpeg|gif|webp);base64,|data:audio\/[\w.+-]+;base64,)/i.test(a.value)) bad.push(el.outerHTML);
        }
      }
      return bad.map((s) => s.slice(0, 300));
    });
    h.assert.deepEqual(found, []);
    h.assert.equal(await page.evaluate(() => window.hit), undefined);
    const text = await page.locator("body").textContent();
    h.assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069]/, "direction marks are shown by their code");
    const at = await scroller.evaluate((el) => ((el.scrollTop += el.clientHeight * 0.8), el.scrollTop));
    await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
    if (at === last) break;
    last = at;
  }
  await h.shot(page, "end");
}

async function fresh(h, options) {
  const page = await h.open("", options);
  await page.locator(".sidebar .new").or(page.getByRole("main").getByRole("button", { name: "New session" })).first().click();
  await page.getByLabel("Message", { exact: true }).waitFor();
  return page;
}

/** Tells a page that its tab is in the background, or in front again. Without a window, browsers show every tab. */
async function hide(page, hidden) {
  await page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden ? "hidden" : "visible");
}

/** Presses Alt and a key that types something else than what is printed on an American keyboard. */
async function altPress(page, key, code) {
  const keyboard = await page.context().newCDPSession(page);
  for (const type of ["rawKeyDown", "keyUp"]) await keyboard.send("Input.dispatchKeyEvent", { type, modifiers: 1, key, code, windowsVirtualKeyCode: key.toUpperCase().charCodeAt(0) });
}

/** Opens the list of rules. */
async function permissions(page) {
  await page.getByLabel("Session menu").click();
  await page.getByRole("button", { name: "Permissions" }).click();
  const rules = page.getByRole("region", { name: "Permissions" });
  await rules.locator(".waits code").or(rules.getByText("No rules decide")).first().waitFor();
  return rules;
}

export const scenarios = {
  async stream(h) {
    const page = await fresh(h);
    await h.send(page, "stream a text");
    await page.getByRole("heading", { name: "A stream" }).waitFor();
    await page.getByText("half", { exact: false }).first().waitFor();
    h.assert.equal(await page.locator("strong").count(), 0, "the second half has not come");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await h.shot(page, "half");
    await h.release();
    await page.locator("strong", { hasText: "second" }).waitFor();
    await page.locator("pre .hljs-keyword", { hasText: "func" }).waitFor();
    await page.getByRole("cell", { name: "2" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Thought/ }).click();
    await page.getByText("The user wants to see a stream.").last().waitFor();
    await page.getByRole("navigation").getByRole("link", { name: /stream a text/ }).waitFor();
    await accessible(page, h.assert);
    await h.shot(page, "whole");
  },

  async approve(h) {
    const page = await fresh(h);
    await h.send(page, "edit the file");
    const dock = page.getByRole("region", { name: "Question" });
    await dock.getByText("return a + b").waitFor();
    h.assert.equal(await dock.locator("table.split").count(), 1);
    await accessible(page, h.assert);
    await h.shot(page, "question");
    await dock.getByRole("button", { name: "Allow once" }).click();
    await page.getByText("It is completed.").waitFor();
    await page.locator(".call .diff").waitFor();
    h.assert.equal(await dock.count(), 0);
    h.assert.equal(await page.locator(".answered .diff").count(), 0, "what was approved is folded away");
    await page.locator(".answered").getByRole("button", { name: /Allow once/ }).click();
    await page.locator(".answered .diff").waitFor();
    await page.locator(".answered").getByRole("button", { name: /Allow once/ }).click();
    h.assert.deepEqual((await h.log()).filter((l) => l.startsWith("answer")), ['answer question:run1 {"choice":"allow_once"}']);
    await accessible(page, h.assert);
    await h.shot(page, "done");
  },

  async deny(h) {
    const page = await fresh(h);
    await h.send(page, "edit the file");
    const dock = page.getByRole("region", { name: "Question" });
    await dock.getByRole("button", { name: "Reject with a reason" }).click();
    await dock.getByLabel("What should the agent do instead?").fill("Use addition.");
    await dock.getByRole("button", { name: "Reject and tell" }).click();
    await page.getByText("It is failed.").waitFor();
    h.assert.deepEqual((await h.log()).filter((l) => l.startsWith("answer")), ['answer question:run1 {"decision":{"allow":false,"reason":"Use addition."}}']);
  },

  // A key that is pressed before the question can have been read answers nothing.
  async keys(h) {
    const page = await fresh(h);
    await h.send(page, "edit the file");
    const dock = page.getByRole("region", { name: "Question" });
    await dock.waitFor();
    const allow = dock.getByRole("button", { name: "Allow once" });
    await allow.and(page.locator(":enabled")).waitFor();
    const answered = async () => (await h.log()).filter((l) => l.startsWith("answer"));
    await page.keyboard.press("Alt+y");
    await page.getByLabel("Message", { exact: true }).pressSequentially("text");
    h.assert.deepEqual(await answered(), [], "what is pressed in a field answers nothing");
    await page.getByLabel("Message", { exact: true }).fill("");
    await dock.getByRole("heading").click();
    await altPress(page, "z", "KeyY"); // on a German keyboard
    await altPress(page, "Dead", "KeyY");
    await page.keyboard.press("Alt+Shift+y");
    h.assert.deepEqual(await answered(), [], "keys go by what they type");
    await altPress(page, "y", "KeyZ");
    await page.getByText("It is completed.").waitFor();
    await h.send(page, "edit the file again");
    await dock.getByRole("button", { name: "Reject", exact: true }).and(page.locator(":enabled")).waitFor();
    await dock.getByRole("heading").click();
    await page.keyboard.press("Alt+n");
    await page.getByText("It is failed.").waitFor();
    const answers = (await h.log()).filter((l) => l.startsWith("answer"));
    h.assert.deepEqual(answers, ['answer question:run1 {"choice":"allow_once"}', 'answer question:run2 {"choice":"reject_once"}']);
  },

  // Whatever somebody types, on any keyboard and in any field, is text and answers nothing.
  async typing(h) {
    const page = await fresh(h);
    await h.send(page, "edit the file");
    const dock = page.getByRole("region", { name: "Question" });
    const enabled = dock.getByRole("button", { name: "Allow once" }).and(page.locator(":enabled"));
    await enabled.waitFor();
    const at = page.url();
    const unanswered = async (where) => {
      h.assert.deepEqual((await h.log()).filter((l) => l.startsWith("answer")), [], where);
      h.assert.equal(page.url(), at, where);
    };
    await page.evaluate(() => {
      const add = (to, tag, id, editable) => {
        const el = to.appendChild(document.createElement(tag));
        el.id = id;
        if (editable) el.contentEditable = editable;
        return el;
      };
      add(document.body, "p", "rich", "true").textContent = "rich";
      add(document.body, "p", "plain", "plaintext-only").textContent = "plain";
      add(add(document.body, "div", "host").attachShadow({ mode: "open" }), "input", "inside"); // as extensions do
    });
    const keyboard = await page.context().newCDPSession(page);
    const press = async (key, code, modifiers) => {
      for (const type of ["rawKeyDown", "keyUp"]) await keyboard.send("Input.dispatchKeyEvent", { type, key, code, modifiers, windowsVirtualKeyCode: code.charCodeAt(code.length - 1) });
    };
    const message = page.getByLabel("Message", { exact: true });
    await dock.getByRole("button", { name: "Edit arguments" }).click();
    const fields = [message, page.getByRole("searchbox"), page.getByLabel("Mode", { exact: true }), dock.getByLabel("Arguments, as JSON."), page.locator("#rich"), page.locator("#plain"), page.locator("#inside")];
    const all = async () => {
      for (const f of fields.splice(0)) {
        await f.focus();
        for (const alt of [1, 2]) for (const [key, code] of [["y", "KeyY"], ["n", "KeyN"], ["e", "KeyE"], ["c", "KeyC"], ["y", "KeyZ"], ["y", "KeyT"]]) await press(key, code, alt);
        for (const key of ["@", "€", "ç", "¥", "Dead"]) await press(key, "KeyC", 3);
        await unanswered(String(f));
      }
    };
    await all();
    await dock.getByRole("button", { name: "Discard changes" }).click();
    await dock.getByRole("button", { name: "Reject with a reason" }).click();
    fields.push(dock.getByLabel("What should the agent do instead?"));
    await all();
    await dock.getByRole("button", { name: "Back" }).click();
    await dock.getByRole("heading").click();
    for (const key of ["@", "ç", "¥", "Dead", "Process"]) for (const modifiers of [1, 3]) await press(key, "KeyY", modifiers);
    await press("f", "KeyY", 1); // on a Dvorak keyboard
    await unanswered("outside of fields");

    await message.focus(); // while characters are composed, Enter and Escape are the composer's
    await keyboard.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
    for (const code of [13, 229]) await keyboard.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: code });
    await keyboard.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "Escape", code: "Escape", windowsVirtualKeyCode: 27 });
    h.assert.equal(await message.inputValue(), "にほん");
    await keyboard.send("Input.insertText", { text: "日本" });
    h.assert.equal(await message.inputValue(), "日本");
    h.assert.deepEqual((await h.log()).filter((l) => /^(answer|cancel)/.test(l)), []);
    await message.fill("");

    await page.addInitScript(() => Object.defineProperty(navigator, "platform", { get: () => "MacIntel" }));
    await page.reload();
    await enabled.waitFor();
    await dock.getByText("Ctrl Y").waitFor();
    await dock.getByRole("heading").click();
    for (const [key, code] of [["ç", "KeyC"], ["¥", "KeyY"], ["y", "KeyY"], ["Dead", "KeyE"]]) await press(key, code, 1);
    await unanswered("Option types characters");
    await press("y", "KeyT", 2);
    await page.getByText("It is completed.").waitFor();
  },

  // A key that is held down, or a focus from before, answers, sends and stops nothing more.
  async held(h) {
    const page = await fresh(h);
    const message = page.getByLabel("Message", { exact: true }), dock = page.getByRole("region", { name: "Question" });
    const allow = dock.getByRole("button", { name: "Allow once" }), enabled = allow.and(page.locator(":enabled"));
    const noted = async (what) => (await h.log()).filter((l) => l.startsWith(what)).length;
    await message.fill("/comp");
    await page.getByRole("option", { name: /compact/ }).waitFor(); // the page that was just opened knows the commands
    for (let i = 0; i < 5; i++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    h.assert.equal(await message.inputValue(), "/compact ", "it is completed and not sent");
    await message.fill("");

    await h.send(page, "again please");
    await dock.getByText("the first version").waitFor();
    await enabled.focus();
    await enabled.hover();
    await page.mouse.down();
    await h.release();
    await dock.getByText("the second version").waitFor();
    await enabled.waitFor();
    await page.mouse.up();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    h.assert.equal(await noted("answer"), 0, "who was about to press it meant the first version");
    await dock.getByRole("heading").click();
    await page.keyboard.down("Enter");
    await allow.focus();
    for (let i = 0; i < 5; i++) await page.keyboard.down("Enter");
    h.assert.equal(await noted("answer"), 0, "it was pressed for something else");
    await page.keyboard.up("Enter");
    await page.keyboard.press("Enter");
    await page.getByText("It is allow_once.").waitFor();
    h.assert.equal(await noted("answer"), 1);

    await h.send(page, "slow work");
    await page.getByText("I am at it.").waitFor();
    await h.send(page, "slow again");
    await page.getByRole("region", { name: "Waiting prompts" }).waitFor();
    await page.keyboard.down("Escape");
    await page.getByText("I am at it.").nth(1).waitFor();
    for (let i = 0; i < 5; i++) await page.keyboard.down("Escape");
    h.assert.equal(await noted("cancel"), 1, "the next turn goes on");
    await page.keyboard.up("Escape");
    await page.keyboard.press("Escape");
    await page.getByText("Stopped by the user.").nth(1).waitFor();
  },

  // A question that is asked again, while nobody looked, can be answered again.
  async twice(h) {
    const page = await fresh(h);
    await h.send(page, "twice please");
    const allow = page.getByRole("region", { name: "Question" }).getByRole("button", { name: "Allow once" }).and(page.locator(":enabled"));
    await allow.waitFor();
    await hide(page, true);
    await h.until("the stream is closed", async () => (await h.log()).some((l) => l.startsWith("end of events")));
    await allow.click();
    await h.until("it is asked again", async () => (await h.log()).includes("asked again"));
    await hide(page, false);
    await allow.click();
    await page.getByText("It was allowed twice.").waitFor();
  },

  async edit(h) {
    const page = await fresh(h);
    await h.send(page, "edit the file");
    const dock = page.getByRole("region", { name: "Question" });
    await dock.getByRole("button", { name: "Edit arguments" }).click();
    const area = dock.getByLabel("Arguments, as JSON.");
    h.assert.match(await area.inputValue(), /"replace": "a \+ b"/);
    await area.fill("{");
    h.assert.equal(await dock.getByRole("button", { name: "Allow with" }).isDisabled(), true);
    await area.fill('{"path": "add.go", "find": "a - b", "replace": "b + a"}');
    await h.shot(page, "arguments");
    await dock.getByRole("button", { name: "Allow with these arguments" }).click({ trial: true }); // until it can be pressed, keys do nothing
    await dock.getByRole("heading").click();
    await page.keyboard.press("Alt+y");
    h.assert.equal((await h.log()).filter((l) => l.startsWith("answer")).length, 0, "the key does not allow edited arguments");
    await dock.getByRole("button", { name: "Allow with these arguments" }).click();
    await page.getByText("It is completed.").waitFor();
    const answers = (await h.log()).filter((l) => l.startsWith("answer"));
    h.assert.deepEqual(answers, ['answer question:run1 {"decision":{"allow":true,"args":{"path":"add.go","find":"a - b","replace":"b + a"}}}']);
  },

  async stop(h) {
    const page = await fresh(h);
    await h.send(page, "slow work");
    await page.getByText("I am at it.").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped by the user.").waitFor();
    await page.getByRole("button", { name: "Go on" }).evaluate((b) => {
      b.click();
      b.click();
    });
    await h.until("the second press is refused", async () => (await h.log()).includes("busy"));
    await h.release();
    await page.getByText("You said: Go on.").waitFor();
    await h.send(page, "slow again");
    await page.getByText("I am at it.").nth(1).waitFor();
    await page.getByLabel("Message", { exact: true }).press("Escape");
    await page.getByText("Stopped by the user.").nth(1).waitFor();
    h.assert.equal(await page.getByText("You said: Go on.").count(), 1, "pressed twice, it is one turn");
    h.assert.equal(await page.getByRole("alert").count(), 0, "and no error");
  },

  async command(h) {
    const page = await fresh(h);
    await h.send(page, "command please");
    const out = page.getByRole("region", { name: "Output of go test ./..." });
    await out.getByText("example.com/a").waitFor();
    await h.release();
    await out.getByText("FAIL").waitFor();
    h.assert.equal((await out.textContent()).includes("[31m"), false, "colours are left out");
    await page.getByText("exit 1").waitFor();
    await page.getByRole("button", { name: /go test/ }).click();
    h.assert.equal(await out.count(), 0, "it folds");
  },

  async form(h) {
    const page = await fresh(h);
    await h.send(page, "ask me");
    const dock = page.getByRole("region", { name: "Question" });
    await dock.getByLabel("Name", { exact: false }).fill("main");
    await dock.getByLabel("sqlite").check();
    await dock.getByLabel("Size").fill("3");
    await accessible(page, h.assert);
    await h.shot(page, "form");
    await dock.getByRole("button", { name: "Answer" }).click();
    await dock.waitFor({ state: "detached" });
    h.assert.deepEqual((await h.log()).filter((l) => l.startsWith("answer")), ['answer question:run1 {"reply":{"action":"accept","content":{"name":"main","kind":"sqlite","size":3}}}'], "an untouched box answers nothing");
    await h.send(page, "ask me again");
    await dock.getByLabel("Name", { exact: false }).fill("main");
    await dock.getByLabel("postgres").check();
    await dock.getByLabel("Backup").check();
    await dock.getByLabel("Backup").uncheck();
    await dock.getByRole("button", { name: "Answer" }).click();
    await dock.waitFor({ state: "detached" });
    h.assert.match((await h.log()).findLast((l) => l.startsWith("answer")), /"content":\{"name":"main","kind":"postgres","backup":false\}/);
    await h.send(page, "plan it");
    await page.getByRole("region", { name: "Plan" }).getByRole("button").click();
    await page.getByRole("listitem").filter({ hasText: "Mend the bug" }).waitFor();
  },

  async composer(h) {
    const page = await fresh(h);
    const area = page.getByLabel("Message", { exact: true });
    await area.fill("/");
    await page.getByRole("option", { name: /compact/ }).waitFor();
    await accessible(page, h.assert);
    await area.press("ArrowDown");
    await area.press("Tab");
    h.assert.equal(await area.inputValue(), "/compact ");
    await area.fill("with a picture");
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: png });
    await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await area.press("Enter");
    await page.locator(".user img[alt='dot.png']").waitFor();
    await h.until("the picture is shown", () => page.locator(".user img").evaluate((i) => i.naturalWidth === 1));
    await page.locator("input[type=file]").setInputFiles({ name: "a.zip", mimeType: "application/zip", buffer: png });
    await page.getByText("Files of the type application/zip are not accepted.").waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByLabel("Mode", { exact: true }).selectOption("auto");
    await page.getByLabel("Model", { exact: true }).selectOption("large");
    await h.until("the settings are told", async () => ["set mode auto", "set model large"].every(async (l) => (await h.log()).includes(l)));
    await h.until("the mode is shown", async () => (await page.getByLabel("Mode", { exact: true }).inputValue()) === "auto");
    await page.locator(".item.message").first().hover();
    await page.getByRole("button", { name: "Fork" }).first().click();
    await page.getByRole("heading", { name: /\(fork\)/ }).waitFor();
  },

  // Pictures of the agent are shown if they are in the answer, and can be saved. Others are links.
  async pictures(h) {
    const page = await fresh(h);
    await h.send(page, "picture please");
    const picture = page.locator(".agent img[alt='plot.png']");
    await picture.waitFor();
    await h.until("the picture is shown", () => picture.evaluate((i) => i.naturalWidth === 1));
    const saved = page.waitForEvent("download");
    await page.getByTitle("Save the image").click();
    h.assert.equal((await saved).suggestedFilename(), "plot.png");
    await page.getByText("Image not loaded:").waitFor();
    await page.getByText("A program has claimed that this was said.").waitFor();
    h.assert.equal(await page.locator(".agent img").count(), 1);
    await accessible(page, h.assert);
    await h.shot(page, "shown");
  },

  // Numbers stand where the answer cites its sources, which are listed below with their numbers.
  async cite(h) {
    const page = await fresh(h);
    await h.send(page, "cite your sources");
    const agent = page.locator(".agent");
    await agent.getByText("Beyond", { exact: true }).waitFor();
    const shown = async (selector) => (await agent.locator(selector).allTextContents()).map((s) => s.replace(/\s+/g, " ").trim());
    h.assert.deepEqual(await shown(".markdown > p"), ["Größe 🌧: tea is green.[1]"]);
    h.assert.deepEqual(await shown(".markdown li"), ["It grows in Assam (assam.test).[2]", "Nobody knows why.[1][3]"]);
    h.assert.deepEqual((await shown(":scope > p")).map((s) => s.slice(0, 24)), [
      "[1] On <b>tea</b> (tea.test)", "[2] Assam (assam.test)", "[3] evil (javascript:wind", "Read, not cited (other.test)", "Beyond (beyond.test)",
    ].map((s) => s.slice(0, 24)));
    const marks = agent.locator("sup.cite");
    h.assert.deepEqual(await marks.locator("a").evaluateAll((all) => all.map((a) => [a.href, a.target, a.rel])), [
      ["https://tea.test/?a=1", "_blank", "noopener noreferrer nofollow"], ["https://assam.test/", "_blank", "noopener noreferrer nofollow"], ["https://tea.test/?a=1", "_blank", "noopener noreferrer nofollow"],
    ], "what may not be followed is no link");
    await agent.getByRole("link", { name: "Source 1: On <b>tea</b>" }).first().waitFor();
    await accessible(page, h.assert);
    await h.shot(page, "shown");
    await page.reload();
    await agent.getByText("Beyond", { exact: true }).waitFor();
    h.assert.equal(await marks.count(), 4);
  },

  async theme(h) {
    const page = await h.open("#/s/demo");
    await page.getByText("Add subtracts").waitFor();
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole("button", { name: "Colours: auto" }).click();
    await page.getByRole("button", { name: "Colours: light" }).click();
    await page.getByRole("button", { name: "Colours: dark" }).waitFor();
    const dark = await ground();
    h.assert.notEqual(dark, light);
    await page.reload();
    await page.getByText("Add subtracts").waitFor();
    h.assert.equal(await ground(), dark, "the choice is kept");
    await accessible(page, h.assert);
  },

  // The server has forgotten a session that had no prompt: the page goes on with another one, and the draft is there.
  async forgotten(h) {
    const page = await fresh(h);
    await h.until("it has an address", async () => /#\/s\/new-/.test(page.url()));
    const before = page.url();
    await page.getByLabel("Message", { exact: true }).fill("a draft");
    await h.tell("kill");
    await page.getByText("The connection is lost.").waitFor();
    await h.tell("start");
    await page.getByRole("button", { name: "Try now" }).click().catch(() => undefined);
    await h.until("it is another session", async () => page.url() !== before && /#\/s\/new-/.test(page.url()));
    await page.getByText("The connection is lost.").waitFor({ state: "detached" });
    h.assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "a draft");
    await page.getByLabel("Message", { exact: true }).press("Enter");
    await page.getByText("You said: a draft").waitFor();
    await page.getByLabel("Message", { exact: true }).fill("");
    const other = await h.open("#/s/no-such-session");
    await other.getByText("There is no such session.").waitFor();
    await other.getByRole("alert").getByRole("button", { name: "New session" }).click();
    await other.getByText("What should be done?").waitFor();
  },

  async rewind(h) {
    const page = await fresh(h);
    await h.send(page, "first thing");
    await page.getByText("You said: first thing").waitFor();
    await h.send(page, "second thing");
    await page.getByText("You said: second thing").waitFor();
    const asked = [];
    page.on("dialog", (d) => asked.push(d.message()));
    await page.locator(".item.message", { hasText: /^second thing/ }).hover();
    await page.getByRole("button", { name: "Rewind" }).last().click();
    await page.getByText("You said: second thing").waitFor({ state: "detached" });
    h.assert.equal(await page.getByText("You said: first thing").count(), 1);
    h.assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "second thing");
    h.assert.match(asked[0], /Files stay as they are\.$/);
    await page.context().route("**/api/config", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), files: true } }); // of a server that takes files back
    });
    await page.reload();
    await page.locator(".item.message", { hasText: /^first thing/ }).hover();
    await page.getByRole("button", { name: "Rewind" }).last().click();
    await h.until("it says so", async () => asked.length === 2);
    h.assert.match(asked[1], /Files go back too/);
    await page.getByRole("searchbox").fill("hundred");
    await page.getByRole("link", { name: /Four hundred calls/ }).waitFor();
    await h.until("others are filtered", async () => (await page.locator(".sessions a").count()) === 1);
  },

  async reload(h) {
    const page = await fresh(h);
    await h.send(page, "stream a text");
    await page.getByRole("heading", { name: "A stream" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "A stream" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await h.release();
    await page.locator("strong", { hasText: "second" }).waitFor();
    h.assert.equal(await page.getByText("stream a text").first().isVisible(), true);
    h.assert.equal(await page.locator(".item.message").count(), 2);
  },

  async tabs(h) {
    const one = await fresh(h);
    await h.until("it has an address", async () => /#\/s\//.test(one.url()));
    const two = await h.open(new URL(one.url()).hash);
    await h.send(one, "edit the file");
    for (const page of [one, two]) await page.getByRole("region", { name: "Question" }).waitFor();
    await two.getByRole("button", { name: "Allow once" }).click();
    for (const page of [one, two]) {
      await page.getByText("It is completed.").waitFor();
      h.assert.equal(await page.getByRole("region", { name: "Question" }).count(), 0);
    }
    await h.send(two, "burst of words");
    for (const page of [one, two]) await page.getByText("word4999").waitFor();
    await h.until("both show the same", async () => {
      const [a, b] = await Promise.all([one, two].map((p) => p.locator(".item").allTextContents()));
      return JSON.stringify(a) === JSON.stringify(b);
    });
    const text = await one.locator(".item.message").last().textContent();
    h.assert.equal(text.trim().split(" ").every((w, i) => w === "word" + i), true, "no word is lost or doubled");
  },

  // The sample gives the browser a file, which leads to the page and lets it in.
  async opened(h) {
    const page = await h.open();
    h.assert.match(await page.locator("body").textContent(), /unauthorized/);
    await page.goto("file://" + process.env.PONTE_FILE);
    await page.getByRole("button", { name: "New session" }).first().waitFor();
    h.assert.doesNotMatch(page.url(), /token/);
  },

  // Nobody can see a tab in the background: it has no stream, and goes on where it was.
  async hidden(h) {
    const page = await fresh(h);
    await h.send(page, "stream a text");
    await page.getByRole("heading", { name: "A stream" }).waitFor();
    const streams = async (what) => (await h.log()).filter((l) => l.startsWith(what));
    await hide(page, true);
    await h.until("the stream is closed", async () => (await streams("end of events")).length === (await streams("events from")).length);
    const before = (await streams("events from")).length;
    await h.release();
    await page.waitForTimeout(1000);
    h.assert.equal(await page.locator("strong").count(), 0);
    h.assert.equal((await streams("events from")).length, before);
    await hide(page, false);
    await page.locator("strong", { hasText: "second" }).waitFor();
    h.assert.match((await streams("events from")).at(-1), /^events from "\d+\.\d+"$/, "it goes on at its position");
  },

  // A browser has six connections to a server. Eight tabs, all in sight, share one.
  async crowd(h) {
    const first = await fresh(h);
    await h.send(first, "edit the file");
    await first.getByRole("button", { name: "Allow once" }).waitFor();
    const pages = [first];
    while (pages.length < 8) {
      const page = await first.context().newPage();
      page.setDefaultTimeout(20_000);
      await page.goto(h.url);
      await page.locator(".sidebar .new").click();
      await h.send(page, "slow work");
      await page.getByText("I am at it.").waitFor();
      pages.push(page);
    }
    first.setDefaultTimeout(20_000);
    const count = async (what) => (await h.log()).filter((l) => l.startsWith(what)).length;
    const open = async () => (await count("events from")) - (await count("end of events"));
    await h.until("one stream is open", async () => (await open()) === 1);
    await pages[7].getByRole("button", { name: "Stop" }).click();
    await pages[7].getByText("Stopped by the user.").waitFor();
    await first.getByRole("button", { name: "Allow once" }).and(first.locator(":enabled")).click();
    await first.getByText("It is completed.").waitFor();
    await pages[3].getByRole("button", { name: "Stop" }).click();
    await pages[3].getByText("Stopped by the user.").waitFor();
    const cancel = (page) => fetch(h.url + "api/sessions/" + new URL(page.url()).hash.split("/").pop() + "/cancel", { method: "POST", body: "{}" });
    await cancel(pages[2]);
    await pages[2].getByText("Stopped by the user.").waitFor(); // a tab that nobody looks at follows, too
    await hide(pages[7], true); // it has the stream
    await cancel(pages[4]);
    await pages[4].getByText("Stopped by the user.").waitFor();
    await pages[6].close(); // with the stream, perhaps, and without a word
    await cancel(pages[5]);
    await pages[5].getByText("Stopped by the user.").waitFor();
    await h.until("one stream is open", async () => (await open()) === 1);
    pages.splice(6, 1);
    for (const page of pages) h.assert.equal(await page.getByText("The connection is lost.").count(), 0);
    for (const page of pages) await hide(page, true);
    await h.until("no stream is left", async () => (await open()) === 0);
  },

  // Prompts that wait are shown in every tab, can be changed and removed, and are kept by Stop.
  async waiting(h) {
    const page = await fresh(h);
    await h.send(page, "slow work");
    await page.getByText("I am at it.").waitFor();
    const queue = page.getByRole("region", { name: "Waiting prompts" });
    for (const [i, text] of ["first", "second", "third"].entries()) {
      await page.getByLabel("Message", { exact: true }).fill(text);
      await page.keyboard.press("Enter");
      await h.until(text + " waits", async () => (await queue.locator(".waits").count()) === i + 1);
    }
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.reload();
    await other.getByRole("region", { name: "Waiting prompts" }).getByText("second").waitFor();
    await queue.locator(".waits").nth(2).getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Waiting prompt", { exact: true }).fill("something else");
    await page.getByRole("button", { name: "Save" }).click();
    await other.getByText("something else").waitFor();
    await queue.locator(".waits").nth(1).getByRole("button", { name: "Edit" }).click();
    await other.getByRole("region", { name: "Waiting prompts" }).locator(".waits").nth(1).getByRole("button", { name: "Remove" }).click();
    await h.until("two wait", async () => (await other.getByRole("region", { name: "Waiting prompts" }).locator(".waits").count()) === 2);
    await h.shot(page, "queue");
    await accessible(page, h.assert);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("You said: first").waitFor();
    await page.getByText("You said: something else").waitFor();
    h.assert.equal(await page.getByText("You said: second").count(), 0);
    h.assert.equal(await page.getByText("You said: third").count(), 0);
    await h.until("nothing waits", async () => (await queue.count()) === 0);
  },

  // 30 tabs, 12 of which stream: Stop in the last one takes at most twice the time of one tab alone.
  async thirty(h) {
    let context;
    await thirty(async () => {
      if (!context) {
        const first = await h.open();
        context = first.context();
        return first;
      }
      const page = await context.newPage();
      await page.goto(h.url);
      return page;
    });
  },

  // The question changes while a tab in the background shows what it was. Its answer is about that, and is refused.
  async late(h) {
    const page = await fresh(h);
    await h.send(page, "again please");
    const dock = page.getByRole("region", { name: "Question" });
    const allow = dock.getByRole("button", { name: "Allow once" });
    await dock.getByText("the first version").waitFor();
    await allow.and(page.locator(":enabled")).waitFor();
    await hide(page, true);
    await h.until("the stream is closed", async () => (await h.log()).some((l) => l.startsWith("end of events")));
    await h.release();
    await h.until("the question has changed", async () => (await h.log()).includes("asked again"));
    await allow.click();
    await page.getByText("The question has changed.").waitFor();
    h.assert.deepEqual((await h.log()).filter((l) => /^(answer|refused)/.test(l)), ["refused question:run1"]);
    await hide(page, false);
    await dock.getByText("the second version").waitFor();
    await allow.and(page.locator(":enabled")).click();
    await page.getByText("It is allow_once.").waitFor();
  },

  async kill(h) {
    const page = await h.open("#/s/demo");
    await page.getByText("Add subtracts").waitFor();
    await h.tell("kill");
    await page.getByText("The connection is lost.").waitFor();
    h.assert.equal(await page.getByText("Add subtracts").count(), 1, "what was there stays");
    await h.shot(page, "lost");
    await h.tell("start");
    await page.getByRole("button", { name: "Try now" }).click().catch(() => undefined);
    await page.getByText("The connection is lost.").waitFor({ state: "detached" });
    await page.getByText("Add subtracts").waitFor();
    h.assert.equal(await page.getByText("Add subtracts").count(), 1, "nothing is doubled");
    await h.until("the page went on from its position", async () => (await h.log()).some((l) => /^events from "\d+\.\d+"$/.test(l)));
    await page.reload();
    await page.getByText("Add subtracts").waitFor();
  },

  async many(h) {
    const page = await h.open("#/s/many");
    await page.locator(".call .title", { hasText: "Edit file 399" }).waitFor();
    const scroller = page.getByRole("region", { name: "Conversation" });
    let most = 0, seen = new Set();
    for (let i = 0; i < 60; i++) {
      most = Math.max(most, await page.evaluate(() => document.getElementsByTagName("*").length));
      h.assert.ok(most < 3500, `${most} elements`);
      for (const t of await page.locator(".call .title").allTextContents()) seen.add(t);
      await scroller.evaluate((el) => (el.scrollTop -= el.clientHeight * 3));
      await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
    }
    console.log("most elements: " + most);
    h.assert.ok(seen.size > 60, `${seen.size} calls were seen`);
    await page.getByRole("button", { name: "Go to the end" }).click();
    await page.locator(".call .title", { hasText: "Edit file 399" }).waitFor();
    await h.shot(page, "end");
  },

  async attacks(h) {
    await harmless(h, "attacks");
  },

  // A public list of strings that break programs, those of attacks among them.
  async strings(h) {
    await harmless(h, "strings");
  },

  async widths(h) {
    for (const [width, scheme] of [[1400, "light"], [1400, "dark"], [360, "light"], [360, "dark"]]) {
      const page = await h.open("#/s/demo", { viewport: { width, height: width === 360 ? 740 : 900 }, colorScheme: scheme });
      await page.getByText("Add subtracts").first().waitFor();
      await page.getByRole("button", { name: "Allow once" }).and(page.locator(":enabled")).waitFor();
      h.assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "nothing sticks out at " + width);
      h.assert.equal(await page.locator(".dock table.split").count(), width === 360 ? 0 : 1);
      await h.shot(page, `${width}-${scheme}`);
      await accessible(page, h.assert);
      if (width === 360) {
        await page.getByRole("button", { name: "Sessions" }).click();
        await page.getByRole("link", { name: /Four hundred/ }).waitFor();
        await h.shot(page, `${width}-${scheme}-list`);
        await accessible(page, h.assert);
        await page.getByRole("link", { name: /Four hundred/ }).click();
        await page.locator(".call .title", { hasText: "Edit file 399" }).waitFor();
        h.assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
        await h.shot(page, `${width}-${scheme}-many`);
        await accessible(page, h.assert);
      }
    }
  },

  // The picture of the README: docs/chat.png.
  async picture(h) {
    for (const id of ["attacks", "many", "strings"]) await fetch(h.url + "api/sessions/" + id, { method: "DELETE" });
    const page = await h.open("#/s/demo", { viewport: { width: 1100, height: 780 } });
    await page.getByText("Add subtracts").first().waitFor();
    await page.getByRole("button", { name: "Allow once" }).and(page.locator(":enabled")).waitFor();
    await h.until("the call is in sight", () => page.getByText("waits for you").isVisible());
    await h.shot(page, "readme");
  },

  // The sample agent with the offline model, from the address that it prints to a file that has changed.
  async webagent(h) {
    const page = await h.open("?token=" + process.env.PONTE_TOKEN);
    h.assert.equal(new URL(page.url()).search, "", "the token is not left in the address");
    await page.locator(".sidebar .new").click();
    await h.send(page, 'replace "+ 23" with "+ 32" in temperature.go');
    const dock = page.getByRole("region", { name: "Question" });
    await dock.locator("td.plus", { hasText: "+ 32" }).waitFor();
    await h.shot(page, "question");
    await page.reload();
    await dock.locator("td.plus", { hasText: "+ 32" }).waitFor();
    await dock.getByRole("button", { name: "Allow once" }).click();
    await dock.waitFor({ state: "detached" });
    await page.getByText("return Fahrenheit(c*9/5 + 32)").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    await accessible(page, h.assert);
    await h.shot(page, "done");
    const items = await page.locator(".item").count();
    await page.reload();
    await page.getByText("return Fahrenheit(c*9/5 + 32)").waitFor();
    h.assert.equal(await page.locator(".item").count(), items);
  },

  // The list of rules, each with its origin; one is taken back. "Always in this project" makes another one.
  async permissions(h) {
    const page = await h.open("?token=" + process.env.PONTE_TOKEN);
    await page.locator(".sidebar .new").click();
    await page.getByLabel("Message", { exact: true }).waitFor();
    const rules = await permissions(page);
    const origins = await rules.locator(".waits:has(code)").allTextContents();
    h.assert.equal(origins.length, 3, origins.join("; "));
    h.assert.ok(origins.some((r) => r.includes(".env") && r.includes(process.env.PONTE_CONFIG)), origins.join("; "));
    h.assert.ok(origins.some((r) => r.includes("make") && r.includes(process.env.PONTE_OWN)), origins.join("; "));
    h.assert.equal(await rules.locator(".waits", { hasText: "make" }).getByRole("button", { name: "Take back" }).count(), 0, "rules of projects are not the user's");
    await accessible(page, h.assert);
    await h.shot(page, "list");
    const vet = rules.locator(".waits", { hasText: "go vet" });
    await vet.getByRole("button", { name: "Take back" }).click();
    await vet.waitFor({ state: "detached" });
    h.assert.equal(await rules.locator(".waits:has(code)").count(), 2);
    await rules.getByRole("button", { name: "Close" }).click();
    await rules.waitFor({ state: "detached" });

    await h.send(page, 'replace "+ 23" with "+ 32" in temperature.go');
    const dock = page.getByRole("region", { name: "Question" });
    await h.until("it is asked", () => dock.count());
    await h.shot(page, "question");
    await dock.getByRole("button", { name: /always.*in this project/i }).click();
    await dock.waitFor({ state: "detached" });
    await page.getByText("return Fahrenheit(c*9/5 + 32)").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    const now = await permissions(page);
    await now.locator(".waits", { hasText: "in this project" }).getByRole("button", { name: "Take back" }).waitFor();
    await h.shot(page, "kept");
  },

  // In a later process, the answer holds until it is taken back.
  async kept(h) {
    const page = await h.open("?token=" + process.env.PONTE_TOKEN);
    await page.locator(".sidebar .new").click();
    await h.send(page, 'replace "+ 32" with "+ 33" in temperature.go');
    const dock = page.getByRole("region", { name: "Question" });
    await page.getByText("return Fahrenheit(c*9/5 + 33)").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    h.assert.equal(await page.locator(".answered").count(), 0, "nobody was asked");
    const rules = await permissions(page);
    const kept = rules.locator(".waits", { hasText: "in this project" });
    await kept.getByRole("button", { name: "Take back" }).click();
    await kept.waitFor({ state: "detached" });
    await h.send(page, 'replace "+ 33" with "+ 32" in temperature.go');
    await dock.locator("td.plus", { hasText: "+ 32" }).waitFor();
    await dock.getByRole("button", { name: "Reject", exact: true }).click();
    await dock.waitFor({ state: "detached" });
  },

  // Thumbs for the answers of turns that have ended, and what others think of them.
  async marks(h) {
    const page = await fresh(h);
    const up = page.getByRole("button", { name: "Good answer" }), down = page.getByRole("button", { name: "Bad answer" });
    await h.send(page, "stream a text");
    await page.getByRole("heading", { name: "A stream" }).waitFor();
    h.assert.equal(await up.count(), 0, "the answer is not complete");
    await h.release();
    await up.waitFor();
    h.assert.equal(await up.count(), 1);
    h.assert.equal(await page.getByText("polite 0.5").count(), 0);
    await up.click();
    await page.locator('[aria-label="Good answer"][aria-pressed=true]').waitFor();
    await page.getByText("polite 0.5").waitFor();
    await page.evaluate(() => (window.prompt = () => "it lied"));
    await down.click();
    await page.locator('[aria-label="Bad answer"][aria-pressed=true]').waitFor();
    await page.locator('[aria-label="Good answer"][aria-pressed=false]').waitFor();
    await page.locator(".marks", { hasText: "it lied" }).waitFor();
    await accessible(page, h.assert);
    await page.reload();
    await page.locator('[aria-label="Bad answer"][aria-pressed=true]').waitFor();
    await page.locator(".sessions", { hasText: "people 2" }).waitFor();
    await h.shot(page, "marked");
  },

  // From the address bar to an approval without a pointer.
  async keyboard(h) {
    const page = await h.open();
    await page.getByRole("link", { name: /Mend the failing/ }).waitFor();
    const focus = async (what, name) => {
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => (document.activeElement?.getAttribute("aria-label") || document.activeElement?.textContent || "").trim());
        if (name.test(at)) return;
      }
      h.assert.fail("cannot reach " + what);
    };
    await focus("the session", /^Mend the failing/);
    await page.keyboard.press("Enter");
    await page.getByText("Add subtracts").waitFor();
    await focus("the conversation", /^Conversation$/);
    await focus("the call", /Read add.go/);
    await page.keyboard.press("Enter");
    await page.getByText("package add").first().waitFor();
    await page.getByRole("button", { name: "Allow once" }).and(page.locator(":enabled")).waitFor();
    await focus("the button", /^Allow once/);
    await focus("the message", /^Message$/);
    await page.keyboard.type("a draft");
    await page.keyboard.press("Alt+c");
    h.assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "a draft");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Alt+c");
    await page.getByText("What should be done?").waitFor();
    await page.goBack();
    await page.getByText("Add subtracts").waitFor();
    h.assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "a draft", "it is there when one comes back");
    await page.goForward();
    await page.getByText("What should be done?").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("edit the file");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Allow once" }).and(page.locator(":enabled")).waitFor();
    await focus("the button", /^Allow once/);
    await page.keyboard.press("Enter");
    await page.getByText("It is completed.").waitFor();
  },
};
