// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// Customer is what the agent of the examples depends on.
type Customer struct{ Name string }

func newGreeter(m model.Model) *agent.Agent[Customer, string] {
	return agent.Must(agent.New(agent.Config[Customer, string]{
		Name: "greeter", Model: m,
		Dynamic: []agent.InstructionFunc[Customer]{agent.Instruct(func(c Customer) string { return "Greet " + c.Name + "." })},
	}))
}

// newCustomer makes the dependencies of a run on the worker.
func newCustomer(_ context.Context, in temporalengine.Input) (Customer, error) {
	return Customer{Name: in.Metadata["customer"]}, nil
}

// A worker executes the runs of an agent.
func ExampleRegister() {
	m, err := model.Open(context.Background(), "openai:gpt-4.1-mini")
	if err != nil {
		log.Fatal(err)
	}
	blobs := temporalengine.DirBlobs{Dir: "/var/lib/agents"} // shared by all workers and clients
	c, err := client.Dial(client.Options{DataConverter: temporalengine.Converter(blobs)})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, "agents", worker.Options{})
	closeRuns, err := temporalengine.Register(w, temporalengine.Config[Customer, string]{
		Name: "greeter", Agent: newGreeter(m), Blobs: blobs, Deps: newCustomer,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer closeRuns()
	if err := w.Run(worker.InterruptCh()); err != nil {
		log.Fatal(err)
	}
}

// A client starts runs and waits for their outputs. It needs no model, tools or dependencies.
func ExampleNewClient() {
	ctx := context.Background()
	blobs := temporalengine.DirBlobs{Dir: "/var/lib/agents"}
	c, err := client.Dial(client.Options{DataConverter: temporalengine.Converter(blobs)})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	runs, err := temporalengine.NewClient[string](c, temporalengine.ClientOptions{Name: "greeter", TaskQueue: "agents", Blobs: blobs})
	if err != nil {
		log.Fatal(err)
	}
	run, err := runs.Start(ctx, temporalengine.Input{ID: "greeting-17", Prompt: "Hello!", Metadata: map[string]string{"customer": "Ada"}})
	if err != nil {
		log.Fatal(err)
	}
	res, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Output)
}

// A test needs no server: Temporal's test environment runs the workflow and its activities in the process.
func Example_test() {
	script := modeltest.Script(modeltest.SayText("Good morning, Ada."))
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a second is little on a machine that is busy
	closeRuns, err := temporalengine.Register(env, temporalengine.Config[Customer, string]{
		Name: "greeter", Agent: newGreeter(script), Blobs: new(temporalengine.MemoryBlobs), Deps: newCustomer,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeRuns()
	env.ExecuteWorkflow("greeter", temporalengine.Input{Prompt: "Hello!", Metadata: map[string]string{"customer": "Ada"}})
	var res agent.Result[string]
	if err := env.GetWorkflowResult(&res); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(script.Requests()[0].Instructions)
	fmt.Println(res.Output)
	// Output:
	// Greet Ada.
	// Good morning, Ada.
}

// A workflow of the program's own asks an agent, and goes on with what it says.
func ExampleRunAgent() {
	config := temporalengine.Config[Customer, string]{ // as for RegisterActivities
		Name: "greeter", Agent: newGreeter(modeltest.Script(modeltest.SayText("Good morning, Ada."))),
		Blobs: new(temporalengine.MemoryBlobs), Deps: newCustomer,
	}
	greet := func(ctx workflow.Context, customer string) (string, error) {
		res, err := temporalengine.RunAgent(ctx, config, temporalengine.Input{
			Prompt: "Hello!", Metadata: map[string]string{"customer": customer},
		})
		if err != nil {
			return "", err
		}
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		var sent string
		err = workflow.ExecuteActivity(ctx, "send", res.Output).Get(ctx, &sent)
		return sent, err
	}
	send := func(_ context.Context, text string) (string, error) { return "sent: " + text, nil }

	var suite testsuite.WorkflowTestSuite // a test needs no server
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	closeRuns, err := temporalengine.RegisterActivities(env, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeRuns()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.RegisterActivityWithOptions(send, activity.RegisterOptions{Name: "send"})
	env.ExecuteWorkflow(greet, "Ada")
	var sent string
	fmt.Println(env.GetWorkflowResult(&sent), sent)
	// Output:
	// <nil> sent: Good morning, Ada.
}

// A page for approvals finds the runs of a user that wait, in the index of Temporal's server.
func ExampleClient_Waiting() {
	var c client.Client // from client.Dial, as in the example of NewClient
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := temporalengine.AddSearchAttributes(ctx, c, client.DefaultNamespace); err != nil { // once
		log.Fatal(err)
	}
	runs, err := temporalengine.NewClient[string](c, temporalengine.ClientOptions{
		Name: "greeter", TaskQueue: "agents", Index: new(temporalengine.Index),
	})
	if err != nil {
		log.Fatal(err)
	}
	for waiting, err := range runs.Waiting(ctx, "ada") {
		if err != nil {
			log.Fatal(err)
		}
		run := runs.Run(waiting.ID)
		state, err := run.State(ctx)
		if err != nil {
			log.Print(err) // it has just ended, or no worker is there
			continue
		}
		for _, call := range state.Pending {
			if call.Approval == nil {
				continue // it waits for a result
			}
			fmt.Println(run.ID(), approval.Text(call.Approval), string(call.Args)) // show it to a person
			var answers toolset.DeferredResults
			answers.Decide(call.Key(), toolset.Allow())
			if _, err := run.Answer(ctx, answers); errors.Is(err, temporalengine.ErrAnswer) {
				log.Print(err) // somebody else was faster
			} else if err != nil {
				log.Fatal(err)
			}
		}
	}
}

// A client answers the questions that tools ask in the middle of their calls.
func ExampleRun_Reply() {
	var run *temporalengine.Run[string] // from Client.Start or Client.Run
	ctx := context.Background()
	state, err := run.State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range state.Questions {
		// Show the question to a person, as a form with the fields of the schema.
		fmt.Println(q.Question.Message, string(q.Question.Schema))
		reply := toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"colour":"blue"}`)}
		if err := run.Reply(ctx, q.ID, reply); err != nil {
			log.Fatal(err)
		}
	}
}

// A program shows sessions and is a worker that runs their turns. Programs that only show them leave out Serve.
func ExampleNewRunner() {
	serve := func(ctx context.Context, c client.Client, store session.Store, a *agent.Agent[struct{}, string]) error {
		runner, err := temporalengine.NewRunner(temporalengine.RunnerConfig{Client: c, TaskQueue: "conversations", Store: store})
		if err != nil {
			return err
		}
		h, err := host.New(host.Config[struct{}, string]{Agent: a, Store: store, Runner: runner})
		if err != nil {
			return err
		}
		defer h.Close(ctx)
		return h.Serve(ctx)
	}
	_ = serve
}
