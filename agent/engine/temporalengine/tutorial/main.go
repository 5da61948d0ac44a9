// SPDX-License-Identifier: Apache-2.0

// Tutorial is the program of the README: a worker, and a client that starts a run and approves what
// it asks for.
//
//	tutorial worker
//	tutorial run -id trip-1
//
// Its model is scripted, so it needs no provider.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

const (
	name  = "traveller"
	queue = "agents"
)

// Trip is the output of a run.
type Trip struct {
	Summary string `json:"summary" validate:"required"`
}

// Deps are what tools need. They are made on the worker and never stored.
type Deps struct{ User string }

type city struct {
	Name string `json:"name"`
}

// newAgent returns an agent that looks at five cities, one after another, and then books a flight,
// which needs approval.
func newAgent() *agent.Agent[Deps, Trip] {
	visit := func(ctx context.Context, run *toolset.RunContext[Deps], c city) (string, error) {
		fmt.Printf("worker %d: visit %s for %s\n", os.Getpid(), c.Name, run.Deps.User)
		select {
		case <-time.After(time.Second): // it takes a while
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return c.Name + " is nice.", nil
	}
	book := func(_ context.Context, run *toolset.RunContext[Deps], c city) (string, error) {
		fmt.Printf("worker %d: book a flight to %s, once: %s\n", os.Getpid(), c.Name, run.IdempotencyKey())
		return "Booked.", nil
	}
	cities := []string{"Oslo", "Bergen", "Lima", "Quito", "Accra"}
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		switch step := len(req.Messages) / 2; {
		case step < len(cities):
			return model.Response(model.ToolCall(fmt.Sprint("visit", step), "visit", fmt.Sprintf(`{"name":%q}`, cities[step]))), nil
		case step == len(cities):
			return model.Response(model.ToolCall("book", "book", `{"name":"Lima"}`)), nil
		}
		return model.Response(model.ToolCall("out", "final_result", `{"summary":"Five cities seen, a flight to Lima booked."}`)), nil
	})
	return agent.Must(agent.New(agent.Config[Deps, Trip]{
		Name: name, Model: m,
		Tools: []*toolset.Tool[Deps]{
			toolset.Func("visit", "Visit a city.", visit),
			toolset.Func("book", "Book a flight.", book, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[Deps], c city) (*toolset.Approval, error) {
				return &toolset.Approval{Reason: "a flight to " + c.Name + " costs money"}, nil
			})),
		},
	}))
}

func main() {
	log.SetFlags(0)
	address := flag.String("address", client.DefaultHostPort, "address of the Temporal server")
	dir := flag.String("blobs", "blobs", "directory that workers and clients share")
	id := flag.String("id", "", "id of the run")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: tutorial worker|run [flags]")
		flag.PrintDefaults()
	}
	if len(os.Args) < 2 {
		flag.Usage()
		os.Exit(2)
	}
	_ = flag.CommandLine.Parse(os.Args[2:])
	blobs := temporalengine.DirBlobs{Dir: *dir}
	var err error
	switch os.Args[1] {
	case "worker":
		err = work(*address, blobs)
	case "run":
		err = run(*address, blobs, *id)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// dial waits until the server is there.
func dial(address string, blobs temporalengine.Blobs) (c client.Client, err error) {
	for range 60 {
		c, err = client.Dial(client.Options{
			HostPort: address, DataConverter: temporalengine.Converter(blobs), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		})
		if err == nil {
			return c, nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return nil, err
}

// work is the worker.
func work(address string, blobs temporalengine.Blobs) error {
	c, err := dial(address, blobs)
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, queue, worker.Options{})
	soon := temporalengine.Activity{Heartbeat: 2 * time.Second} // so that a worker that is lost is missed soon
	closeRuns, err := temporalengine.Register(w, temporalengine.Config[Deps, Trip]{
		Name: name, Agent: newAgent(), Blobs: blobs, Step: soon, Tool: func(string) temporalengine.Activity { return soon },
		Deps: func(_ context.Context, in temporalengine.Input) (Deps, error) {
			return Deps{User: in.Metadata["user"]}, nil
		},
	})
	if err != nil {
		return err
	}
	defer closeRuns()
	fmt.Printf("worker %d: ready\n", os.Getpid())
	return w.Run(worker.InterruptCh())
}

// run starts a run or finds the existing one, approves what it waits for, and prints the result.
func run(address string, blobs temporalengine.Blobs, id string) error {
	ctx := context.Background()
	c, err := dial(address, blobs)
	if err != nil {
		return err
	}
	defer c.Close()
	runs, err := temporalengine.NewClient[Trip](c, temporalengine.ClientOptions{Name: name, TaskQueue: queue, Blobs: blobs})
	if err != nil {
		return err
	}
	r, err := runs.Start(ctx, temporalengine.Input{ID: id, Prompt: "Plan a trip.", Metadata: map[string]string{"user": "ada"}})
	if errors.Is(err, temporalengine.ErrRunning) {
		r, err = runs.Run(id), nil
	}
	if err != nil {
		return err
	}
	fmt.Println("run", r.ID())
	for {
		soon, cancel := context.WithTimeout(ctx, time.Second)
		res, err := r.Result(soon)
		cancel()
		if err == nil {
			fmt.Println(res.Output.Summary)
			return nil
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		state, err := r.State(ctx)
		if err != nil {
			continue // no worker is there, or it was lost just now
		}
		var answers toolset.DeferredResults
		for _, call := range state.Pending {
			fmt.Printf("approved: %s\n", call.Approval.Reason)
			answers.Decide(call.Key(), toolset.Allow())
		}
		if len(state.Pending) > 0 {
			if _, err := r.Answer(ctx, answers); err != nil && !errors.Is(err, temporalengine.ErrAnswer) {
				return err
			}
		}
	}
}
