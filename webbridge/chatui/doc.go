// SPDX-License-Identifier: Apache-2.0

// Package chatui is the page that talks to an agent in a browser. It is embedded in the program, and needs nothing from elsewhere.
//
//	mux.Handle("/", chatui.Handler())
//
// The page calls the API of package webbridge at "api/" beside it, so both may be mounted below a prefix, which must end with a slash.
//
// # Security
//
// The page is served with a Content-Security-Policy that allows its own script, its own style sheet, and requests to its own origin, and
// nothing else. Text of models and tools is never made into HTML: the page builds elements of it. Links show the host that they lead to,
// and only those to http, https and mailto can be followed. Images are shown if they are part of the conversation (PNG, JPEG, GIF, WebP);
// those from elsewhere are not loaded. Characters that are invisible, or that change the direction of text, are shown by their code.
//
// The handler does not authenticate: the page holds no secrets. The API must.
//
// # Building
//
// The sources are in the directory page, and the built page, dist, is committed. After a change, with Node.js 20.19 or newer:
//
//	cd webbridge/chatui/page && npm install --ignore-scripts && npm run check && npm test && npm run build
//
// CI builds it again from the pinned packages and compares the result with what is committed.
package chatui
