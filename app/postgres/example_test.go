// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/app"
	_ "github.com/ponte-go/ponte/app/postgres"
)

// own is a command of the program.
func own(*app.Env) *cobra.Command { return &cobra.Command{Use: "own"} }

// The program keeps its sessions where -store says, as in
//
//	desk sessions list -store postgres://desk@db.internal/desk
//
// What is wrong with an address is said without its password.
func Example() {
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{})),
		Commands: []func(*app.Env) *cobra.Command{own},
	}, app.Process{
		Args: []string{"sessions", "list", "-store", "postgres://ann:secret@db.internal:port/desk"}, Err: os.Stdout,
	})
	fmt.Println("exit code", code)
	// Output:
	// desk: session: open: invalid argument: the address of the database: invalid port
	// exit code 1
}
