// SPDX-License-Identifier: Apache-2.0

// Desk answers questions about the orders of a shop, in every way that package app knows. It is the
// program of docs/app.md.
//
//	go run ./examples/desk 'Where is order 17?'
//	go run ./examples/desk chat
//	go run ./examples/desk -h
package main

import (
	"github.com/ponte-go/ponte/agent"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/app/all"
)

var desk = agent.Must(agent.New(agent.Config[any, string]{Name: "desk", Tools: tools}))

func main() {
	all.Main(all.Config[any, string]{Name: "desk", About: "Answers questions about orders", Agent: desk})
}
