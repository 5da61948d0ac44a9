// SPDX-License-Identifier: Apache-2.0

// Runs the page of docs/web.md as it stands there, in a small DOM: types, sends, clicks, and reads what is shown.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { Window } from 'happy-dom'
import { transform } from 'sucrase'

const base = process.env.BASE
const window = new Window({ url: `${base}/` })
for (const name of ['window', 'document', 'HTMLElement', 'Node', 'Element', 'Event', 'MutationObserver', 'navigator']) {
  Object.defineProperty(globalThis, name, { value: name === 'window' ? window : window[name], configurable: true, writable: true })
}
const plainFetch = globalThis.fetch
let resumed = 0 // pages that have asked for an answer that is being written
globalThis.fetch = async (url, init = {}) => {
  const response = await plainFetch(new URL(url, base), { ...init, headers: { ...init.headers, Authorization: `Bearer ${process.env.TOKEN}` } })
  if (String(url).endsWith('/stream')) resumed++
  return response
}

const { code } = transform(process.env.PAGE, { transforms: ['jsx'], jsxRuntime: 'automatic', production: true })
const file = process.env.FILE
await writeFile(file, code)
const { ChatPage } = await import(pathToFileURL(file))
const { createElement } = await import('react')
const { createRoot } = await import('react-dom/client')

function open(id) {
  const at = document.body.appendChild(document.createElement('div'))
  const root = createRoot(at)
  root.render(createElement(ChatPage, { id }))
  return { at, close: () => root.unmount() }
}
async function until(what, condition) {
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    const value = condition()
    if (value) return value
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`timeout: ${what}: ${page.at.innerHTML}`)
}
const shows = (text) => until(text, () => page.at.textContent.includes(text))
const button = (name) => until(name, () => [...page.at.querySelectorAll('button')].find((b) => b.textContent === name))
async function say(text) {
  await button('Send')
  const field = page.at.querySelector('input')
  field.value = text
  page.at.querySelector('form').requestSubmit()
}

let page = open('of the docs')
await until('the page begins', () => resumed === 1)
await say('pay')
await shows('pay: Pay Ada')
await shows('pay: Pay Bob')
;(await button('Allow')).click()
await until('one is left', () => page.at.querySelectorAll('[role=alertdialog]').length === 1)
;(await button('Reject')).click()
await shows('All done.')
await shows('paid Ada')
await shows('Rejected.')
await shows('Look: completed')

await say('slow')
await shows('first half')
page.close()
page = open('of the docs') // loaded anew in mid-stream
await shows('first half')
await shows('paid Ada')
await button('Stop')
await fetch('/gate', { method: 'POST' })
await shows('first half, second half')

await say('slow')
await until('the second answer', () => page.at.querySelectorAll('article').length === 6 && page.at.querySelectorAll('article')[5].textContent.includes('first half'))
;(await button('Stop')).click()
await say('fail')
await until('the alert', () => page.at.querySelector('[role=alert]')?.textContent.includes('The model has failed'))
console.log(JSON.stringify({ shown: page.at.textContent }))
process.exit(0)
