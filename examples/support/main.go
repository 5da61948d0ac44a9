// SPDX-License-Identifier: Apache-2.0

// Command support is a support agent for a shop: it remembers its customers, looks orders up in an MCP server, and has guardrails. The server
// is this program again, started with the argument "shop".
//
// Without a key for a model it runs with an offline demo model, which carries out requests such as
//
//	use shop_order {"number":"17"} and use shop_refund {"number":"17","amount":80}
package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/app/ask"
	"github.com/ponte-go/ponte/app/offline"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func main() {
	ctx := context.Background()
	if len(os.Args) == 2 && os.Args[1] == "shop" {
		if err := shop(ctx, &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	name := flag.String("model", "", "provider:name of a model, or offline; by default OpenAI's if OPENAI_API_KEY is set, else offline")
	customer := flag.String("customer", "ada", "who is asking")
	notes := flag.String("notes", "", "directory for notes about customers; by default they are forgotten at the end")
	flag.Parse()
	if err := support(ctx, *name, *customer, *notes, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// support talks to a customer until the input ends.
func support(ctx context.Context, name, customer, notes string, in io.Reader, out io.Writer) error {
	m, err := open(ctx, name)
	if err != nil {
		return err
	}
	memory, err := remembered(notes)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	server, err := mcptoolset.New(mcptoolset.Config{
		Name: "shop", Transport: mcptoolset.Command{Path: self, Args: []string{"shop"}}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer server.Close()
	a, err := newAgent(m, server)
	if err != nil {
		return err
	}
	t := ask.New(in, out)
	t.By = "colleague"
	converse(ctx, t, a, Deps{customer, memory})
	return t.Err()
}

// open returns the model of a name, or what there is.
func open(ctx context.Context, name string) (model.Model, error) {
	if name == "" && os.Getenv("OPENAI_API_KEY") != "" {
		name = "openai:" + cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-5-mini")
	}
	if name == "" || name == "offline" {
		return offline.New(offline.Config{}), nil
	}
	return model.Open(ctx, name)
}

// converse answers a customer until the input ends.
func converse(ctx context.Context, t *ask.Terminal, a *agent.Agent[Deps, string], d Deps) {
	var messages []*model.Message
	for {
		prompt, ok := t.Line("\n> ")
		switch {
		case !ok:
			return
		case prompt == "":
			continue
		}
		res, err := a.Run(ctx, d, prompt, agent.WithHistory(messages), agent.WithAsker(t))
		if err != nil {
			t.Say("%s\n", explain(err))
			continue // the history stays as it was: a prompt that was blocked is not in it
		}
		messages = res.Messages
		t.Say("%s\n", res.Output)
	}
}

// patience is how long the shop may take.
const patience = 10 * time.Second
