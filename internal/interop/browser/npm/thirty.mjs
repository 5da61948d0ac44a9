// SPDX-License-Identifier: Apache-2.0
// 30 tabs, 12 of which stream. It uses what pages of Playwright and of Puppeteer have in common.

const message = 'textarea[aria-label="Message"]';

/** Begins an answer that does not end. */
async function talk(page) {
  await page.type(message, "talk");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("button[aria-label=Stop]") && /word\d+/.test(document.body.innerText));
}

/** Stops an answer, and returns how long the page took, in milliseconds. */
async function stop(page) {
  await talk(page);
  return page.evaluate(() => new Promise((resolve) => {
    const button = document.querySelector("button[aria-label=Stop]");
    const began = performance.now();
    const seen = new MutationObserver(() => {
      if (document.contains(button)) return;
      seen.disconnect();
      resolve(performance.now() - began);
    });
    seen.observe(document.body, { childList: true, subtree: true });
    button.click();
  }));
}

async function median(page) {
  const all = [];
  for (let i = 0; i < 5; i++) all.push(await stop(page));
  return all.sort((a, b) => a - b)[2];
}

/** Takes how a tab is opened, and how it is put in sight if only one of them can be. Fails if Stop in the last tab takes more than twice the time that it takes with one tab. */
export async function thirty(open, front = async () => {}) {
  const tab = async () => {
    const page = await open();
    await page.waitForSelector(".sidebar .new");
    await page.click(".sidebar .new");
    await page.waitForSelector(message);
    return page;
  };
  const pages = [await tab()];
  await stop(pages[0]);
  const alone = await median(pages[0]);
  while (pages.length < 30) pages.push(await tab());
  for (const page of pages.slice(0, 12)) {
    await front(page);
    await talk(page);
  }
  await front(pages[29]);
  let among = await median(pages[29]);
  for (let i = 0; i < 9 && among > 2 * alone; i++) { // others may load the machine
    await new Promise((r) => setTimeout(r, 3000));
    among = Math.min(among, await median(pages[29]));
  }
  console.log(`Stop takes ${alone.toFixed(1)} ms alone, ${among.toFixed(1)} ms among 30 tabs: ${(among / alone).toFixed(2)} times`);
  if (!(among <= 2 * alone)) throw new Error(`${among} ms among 30 tabs, ${alone} ms alone`);
}
