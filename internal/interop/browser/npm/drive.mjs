// SPDX-License-Identifier: Apache-2.0
// Drives Chromium, or the Firefox that IN_FIREFOX names, through a scenario: node drive.mjs SCENARIO URL DIRECTORY. Pictures go to the directory. The Go test kills and starts the
// server when it reads a line on standard output that begins with "!", and answers with a line.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { scenarios } from "./scenarios.mjs";

const [name, url, dir] = process.argv.slice(2);
// How long anything may take, in milliseconds. It only bounds how late a failure is noticed.
const patience = Number(process.env.PATIENCE || 180_000);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const FIREFOX = process.env.IN_FIREFOX;
if (FIREFOX) { // a command of its protocol that Playwright sends always, and Firefox does not have yet
  const bundle = createRequire(import.meta.url).resolve("playwright-core").replace(/index\.js$/, "lib/coreBundle.js");
  writeFileSync(bundle, readFileSync(bundle, "utf8").replace(/ await this(\.[\w.]+)\.send\("emulation\.setMediaFeaturesOverride"/g, ' if (false) this$1.send("emulation.setMediaFeaturesOverride"'));
}
const { chromium, firefox } = await import("playwright-core");
const browser = FIREFOX
  ? await firefox.launch({ executablePath: FIREFOX, channel: "moz-firefox", firefoxUserPrefs: { "ui.prefersReducedMotion": 1 } })
  : await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
// Playwright styles pages for pictures, which Firefox counts as a violation.
const known = (complaint) => FIREFOX !== undefined && /style-src-elem/.test(complaint);
const complaints = [];

/** Notes what a page complains about. */
function watched(page) {
  page.setDefaultTimeout(patience);
  page.on("pageerror", (err) => known(err.message) || complaints.push("error in the page: " + err.message));
  page.on("dialog", (d) => {
    if (d.type() === "alert") complaints.push("alert: " + d.message()); // the page has none
    return d.accept().catch(() => undefined);
  });
  page.on("console", (m) => {
    if (m.type() === "error" && !/Failed to load resource|ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED/.test(m.text())) complaints.push("console: " + m.text());
  });
}

/** Opens a page. Whatever it asks of another origin, and whatever it complains about, fails the scenario. */
async function open(path = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme: "light", reducedMotion: "reduce", ...options });
  await context.route("**/*", (route) => {
    const to = new URL(route.request().url());
    if (to.origin !== new URL(url).origin && to.protocol !== "data:" && to.protocol !== "file:") complaints.push("request to " + to.href);
    return route.continue();
  });
  await context.addInitScript(() => {
    window.violations = [];
    addEventListener("securitypolicyviolation", (ev) => window.violations.push(ev.violatedDirective + " " + ev.blockedURI));
  });
  context.on("page", watched);
  const page = await context.newPage();
  if (FIREFOX) { // React does not see there what is set from outside
    Object.getPrototypeOf(page.locator("body")).fill = async function (text) {
      await this.focus();
      await this.press("Control+a");
      await this.press("Delete");
      if (text) await this.pressSequentially(text);
    };
  }
  await page.goto(url + path);
  return page;
}

const help = {
  open, url, complaints, assert,
  shot: (page, what) => page.screenshot({ path: `${dir}/${name}-${what}.png` }),
  /** Tells the Go test to do something, and waits until it is done. */
  async tell(what) {
    process.stdout.write("!" + what + "\n");
    await answers.next();
  },
  release: () => fetch(url + "mock/release", { method: "POST" }),
  log: async () => (await fetch(url + "mock/log")).json(),
  /** Waits until something holds. */
  async until(what, f) {
    const end = Date.now() + patience;
    for (;;) {
      if (await f()) return;
      if (Date.now() > end) assert.fail("never: " + what);
      await new Promise((r) => setTimeout(r, 25));
    }
  },
  async send(page, text) {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  },
};

let failure;
try {
  await scenarios[name](help);
  for (const context of browser.contexts()) for (const page of context.pages()) complaints.push(...(await page.evaluate(() => window.violations)).filter((v) => !known(v)));
  assert.deepEqual(complaints, []);
} catch (err) {
  failure = err;
  for (const context of browser.contexts()) for (const [i, page] of context.pages().entries()) await page.screenshot({ path: `${dir}/${name}-failed-${i}.png` }).catch(() => undefined);
}
await browser.close();
if (failure) {
  console.error(failure, complaints);
  process.exit(1);
}
process.exit(0);
