// SPDX-License-Identifier: Apache-2.0
// Runs the scenario of 30 tabs in Firefox: node firefox.mjs URL. Of the tabs of a window, one is in sight.
import puppeteer from "puppeteer-core";
import { thirty } from "./thirty.mjs";

const url = process.argv[2];
const patience = Number(process.env.PATIENCE || 180_000);
const browser = await puppeteer.launch({ browser: "firefox", executablePath: process.env.FIREFOX, headless: true, protocolTimeout: patience });
const complaints = [];
let failure;
try {
  const context = await browser.createBrowserContext();
  await thirty(async () => {
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    page.on("pageerror", (err) => complaints.push("error in the page: " + err.message));
    await page.goto(url);
    await page.bringToFront();
    return page;
  }, (page) => page.bringToFront());
  console.log(`in ${await browser.version()}`);
  if (complaints.length) throw new Error("the page complains");
} catch (err) {
  failure = err;
}
await browser.close();
if (failure) {
  console.error(failure, complaints);
  process.exit(1);
}
process.exit(0);
