// SPDX-License-Identifier: Apache-2.0

// Command models asks several models the same question, and then shows a fallback for a model that
// fails. Pass the models as arguments, such as openai:gpt-5-mini ollama:qwen3:8b. Without arguments
// they are scripted.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
)

// Capital is the answer.
type Capital struct {
	City string `json:"city" validate:"required"`
}

var geographer = agent.Must(agent.New(agent.Config[any, Capital]{Instructions: "Name the capital of a country."}))

func open(ctx context.Context, names []string) ([]model.Model, error) {
	if len(names) == 0 {
		busy := &model.APIError{Provider: "example", Model: "large", Status: 503, Message: "busy", Retryable: true}
		oslo := modeltest.Say(model.ToolCall("1", "final_result", `{"city":"Oslo"}`))
		return []model.Model{modeltest.Script(modeltest.Fail(busy), modeltest.Fail(busy)), modeltest.Script(oslo, oslo)}, nil
	}
	var models []model.Model
	for _, name := range names {
		m, err := model.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	return models, nil
}

func ask(ctx context.Context, m model.Model) {
	res, err := geographer.Run(ctx, nil, "Norway", agent.WithModel(m))
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(res.Output.City)
}

func main() {
	flag.Parse()
	ctx := context.Background()
	models, err := open(ctx, flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range models {
		ask(ctx, m)
	}
	ask(ctx, modelwrap.Fallback(models, modelwrap.FallbackPolicy{}))
}
