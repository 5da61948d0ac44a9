// SPDX-License-Identifier: Apache-2.0

// Footprint is a small program as a user would write it: an agent with a tool, its own output type, and a model behind an
// OpenAI-compatible endpoint. Its test measures what Ponte adds to a program: bytes and modules.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/toolset"
)

type deps struct{ base int }

type addArgs struct {
	X int `json:"x" validate:"min=0"`
	Y int `json:"y" validate:"min=0"`
}

type sum struct {
	Sum int `json:"sum" validate:"min=0"`
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	m, err := openaimodel.New(openaimodel.Config{Name: os.Getenv("MODEL"), BaseURL: os.Getenv("BASE_URL"), APIKey: os.Getenv("API_KEY")})
	if err != nil {
		return err
	}
	add := toolset.Func("add", "Add two numbers.", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) {
		return run.Deps.base + in.X + in.Y, nil
	})
	a, err := agent.New(agent.Config[deps, sum]{
		Model:        m,
		Instructions: "You add numbers.",
		Toolsets:     []toolset.Toolset[deps]{toolset.Of(add)},
	})
	if err != nil {
		return err
	}
	res, err := a.Run(context.Background(), deps{}, "What is 1+2?")
	if err != nil {
		return err
	}
	fmt.Println(res.Output.Sum)
	return nil
}
