// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app"
	_ "github.com/ponte-go/ponte/app/sqlite"
)

// keep is a command that keeps a session.
func keep(e *app.Env) *cobra.Command {
	return &cobra.Command{Use: "keep TITLE", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		store, err := e.Store(c.Context())
		if err == nil {
			_, err = store.Create(c.Context(), session.New{Title: args[0]})
		}
		return err
	}}
}

// A second run of the program finds the session of the first.
func Example() {
	dir, err := os.MkdirTemp("", "desk")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	desk := func(args ...string) string {
		var out strings.Builder
		app.Run(context.Background(), app.Config[any, string]{
			Name: "desk", Commands: []func(*app.Env) *cobra.Command{keep},
			Agent: agent.Must(agent.New(agent.Config[any, string]{})),
		}, app.Process{Args: append(args, "-store", dir), Out: &out})
		return out.String()
	}
	desk("keep", "Order 17")
	fmt.Println(strings.Contains(desk("sessions", "list"), "Order 17"))
	// Output: true
}
