// SPDX-License-Identifier: Apache-2.0

// Package browser has no code, only tests: they drive browsers through the page of webbridge,
// against a server that keeps the page's side of the API, and build the page again to compare it
// with what is committed.
//
// They run if PONTE_BROWSER is set, which the stage "browser" of CI does. They need Node.js 20.19
// or newer with npm, and Chromium and Firefox (Debian: apt-get install chromium firefox-esr), found
// on PATH or by CHROMIUM and FIREFOX. Without one of them the tests skip, or fail if
// PONTE_BROWSER=require. Pictures are kept in the directory that PONTE_BROWSER_PICTURES names.
package browser
