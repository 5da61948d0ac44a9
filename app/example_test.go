// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/editor"
)

// newDesk returns an agent with a model that says one thing.
func newDesk() *agent.Agent[any, string] {
	says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
	return agent.Must(agent.New(agent.Config[any, string]{Name: "desk", Model: says}))
}

// A program with two surfaces: a terminal, and the protocol of editors.
func ExampleMain() {
	app.Main(app.Config[any, string]{
		Name: "desk", About: "Answers questions about orders", Agent: newDesk(),
		Surfaces: []app.Surface{chat.New(chat.Options{}), editor.New(editor.Options{})},
	})
}

// Run is Main with arguments and streams of a test.
func ExampleRun() {
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: newDesk(), Surfaces: []app.Surface{chat.New(chat.Options{})},
	}, app.Process{Args: []string{"Where is order 17?"}, In: strings.NewReader(""), Out: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// It was delivered on Monday.
	// exit code 0
}

// A program has flags and commands of its own. The command asks the agent.
func ExampleConfig() {
	shop := ""
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: newDesk(),
		Flags: func(f *pflag.FlagSet) { f.StringVar(&shop, "shop", "Berlin", "`name` of the shop") },
		Commands: []func(*app.Env) *cobra.Command{func(e *app.Env) *cobra.Command {
			return &cobra.Command{Use: "where ORDER", Short: "Find an order", Args: cobra.ExactArgs(1),
				RunE: func(c *cobra.Command, args []string) error {
					h, err := e.Open(c.Context())
					if err != nil {
						return err
					}
					s, err := h.Create(c.Context(), session.New{}, host.Local)
					if err != nil {
						return err
					}
					ask := model.User("Where is order " + args[0] + " of " + shop + "?")
					out, err := s.Prompt(c.Context(), host.Prompt{Parts: []model.Part{ask}})
					if err != nil {
						return err
					}
					shown, _, err := s.Snapshot(c.Context())
					fmt.Fprint(e.Out, host.Markdown(shown))
					return errors.Join(out.Err, err)
				}}
		}},
	}, app.Process{Args: []string{"where", "17", "-shop", "Rome", "-no-store"}, Out: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// ## User
	//
	// Where is order 17 of Rome?
	//
	// ## Assistant
	//
	// It was delivered on Monday.
	//
	// exit code 0
}

// postcards is a surface: a way to use an agent.
type postcards struct{}

func (postcards) Name() string { return "postcards" }

func (postcards) Command(e *app.Env) *cobra.Command {
	return &cobra.Command{Use: "postcards", Short: "Answer postcards", RunE: func(c *cobra.Command, _ []string) error {
		if _, err := e.Host(c.Context()); err != nil { // whose sessions a surface shows
			return err
		}
		fmt.Fprintln(e.Out, e.Title, "has no postcards")
		return nil
	}}
}

func ExampleSurface() {
	app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Title: "The desk", Agent: newDesk(), Surfaces: []app.Surface{postcards{}},
	}, app.Process{Args: []string{"postcards"}, Out: os.Stdout})
	// Output: The desk has no postcards
}

// A mistake in the command line has the exit code 2, and is explained with the help.
func ExampleUsage() {
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: newDesk(),
		Commands: []func(*app.Env) *cobra.Command{func(*app.Env) *cobra.Command {
			return &cobra.Command{Use: "where", RunE: func(*cobra.Command, []string) error {
				return app.Usage("where: give the number of an order")
			}}
		}},
	}, app.Process{Args: []string{"where"}, Err: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// desk: where: give the number of an order
	// Run "desk -h" for help.
	// exit code 2
}

// The command doctor has checks of the program's own.
func ExampleCheck() {
	warehouse := app.Check{Name: "warehouse", Err: errors.New("no answer"), Mend: "start the VPN"}
	var out strings.Builder
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: newDesk(), Surfaces: []app.Surface{postcards{}},
		Checks: []func(context.Context, *app.Env) []app.Check{
			func(context.Context, *app.Env) []app.Check { return []app.Check{warehouse} },
		},
	}, app.Process{Args: []string{"doctor", "-no-store"}, Out: &out})
	fmt.Print(out.String()[strings.Index(out.String(), "wrong"):])
	fmt.Println("exit code", code)
	// Output:
	// wrong  warehouse: no answer
	//        start the VPN
	// exit code 1
}

// Sessions are kept in a database that -store names.
func ExampleRegisterStore() {
	app.RegisterStore("cellar", func(_ context.Context, address string) (session.Store, error) {
		fmt.Println("opening", address)
		return new(session.Memory), nil
	})
	app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: newDesk(), Surfaces: []app.Surface{postcards{}},
	}, app.Process{Args: []string{"sessions", "list", "-store", "cellar://left"}, Out: os.Stdout})
	// Output: opening cellar://left
}

// What follows the first argument of a command goes to another program, as it is.
func ExamplePassRest() {
	app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: newDesk(),
		Commands: []func(*app.Env) *cobra.Command{func(e *app.Env) *cobra.Command {
			return app.PassRest(&cobra.Command{Use: "with PROGRAM [ARGUMENT...]",
				Run: func(_ *cobra.Command, args []string) { fmt.Fprintln(e.Out, args) }})
		}},
	}, app.Process{Args: []string{"with", "ls", "-l", "-model"}, Out: os.Stdout})
	// Output: [ls -l -model]
}
