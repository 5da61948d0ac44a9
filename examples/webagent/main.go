// SPDX-License-Identifier: Apache-2.0

// Webagent is a coding agent in the browser, and a sample of how to serve one with Ponte.
//
// Usage:
//
//	webagent [-dir DIR] [-addr 127.0.0.1:0] [-store DIR] [-model MODEL] [-open=false]
//
// It works on the files of DIR, and listens on this machine only. The first line of its standard
// output is the address of the page, with a token that admits its bearer. The page is at "/", the
// API for programs at "/api/", OpenAI's API at "/v1/" with the model "webagent", and your own pages
// find useChat at "/api/chat" and AG-UI at "/api/agui": see docs/web.md. SIGINT and SIGTERM end it
// when the running turns have ended, a second one at once.
package main

import (
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/examples/webagent/internal/program"
)

func main() { app.Main(program.Config()) }
