// SPDX-License-Identifier: Apache-2.0

package encryption_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app"
	_ "github.com/ponte-go/ponte/app/encryption"
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

// The title of a session is not in the file that it is kept in.
func Example() {
	dir, err := os.MkdirTemp("", "desk")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	desk := func(args ...string) string {
		var out bytes.Buffer
		says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
		app.Run(context.Background(), app.Config[any, string]{
			Name: "desk", Commands: []func(*app.Env) *cobra.Command{keep},
			Agent: agent.Must(agent.New(agent.Config[any, string]{Model: says})),
		}, app.Process{Args: append(args, "-store", dir, "-encrypt", filepath.Join(dir, "key")), Out: &out, Err: &out})
		return out.String()
	}
	desk("sessions", "key") // makes one
	desk("keep", "Order 17")
	fmt.Println("listed:", bytes.Contains([]byte(desk("sessions", "list")), []byte("Order 17")))
	kept, err := os.ReadFile(filepath.Join(dir, "sessions.db"))
	fmt.Println("readable:", bytes.Contains(kept, []byte("Order 17")), err)
	// Output:
	// listed: true
	// readable: false <nil>
}
