// SPDX-License-Identifier: Apache-2.0

// Command streamed shows a list of structs while the model writes it. Without -model the answer is scripted.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
)

// Whale is a species.
type Whale struct {
	Name   string  `json:"name"`
	Length float64 `json:"length" validate:"gt=0" jsonschema:"description=Metres of an adult"`
	Ocean  string  `json:"ocean,omitempty"`
}

var zoologist = agent.Must(agent.New(agent.Config[any, []Whale]{}))

var name = flag.String("model", "", "provider:name of a model")

func main() {
	flag.Parse()
	ctx := context.Background()
	var m model.Model = modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result",
		`{"value": [{"name": "blue whale", "length": 26, "ocean": "all"}, {"name": "orca", "length": 7, "ocean": "all"}]}`)))
	if *name != "" {
		var err error
		if m, err = model.Open(ctx, *name); err != nil {
			log.Fatal(err)
		}
	}
	stream := zoologist.Stream(ctx, nil, "Describe two species of whale.", agent.WithModel(m))
	shown := 0
	for whales := range stream.Partials() {
		for ; shown < len(whales)-1; shown++ { // the last one may be incomplete
			fmt.Println("so far:", whales[shown].Name)
		}
	}
	res, err := stream.Result()
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range res.Output {
		fmt.Printf("%-10s %3.0f m %s\n", w.Name, w.Length, w.Ocean)
	}
}
