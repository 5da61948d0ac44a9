// SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app"
	_ "github.com/ponte-go/ponte/app/temporal"
)

// own is a command of the program.
func own(*app.Env) *cobra.Command { return &cobra.Command{Use: "own"} }

// The turns of the program run on the workers of the server that -runner names, as in
//
//	desk worker -runner 'temporal://localhost:7233?heartbeat=5s'
//
// A worker that gives no sign of life for as long as heartbeat says loses its turns to others.
func Example() {
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script()})),
		Store:    func(context.Context, *app.Env) (session.Store, error) { return new(session.Memory), nil },
		Commands: []func(*app.Env) *cobra.Command{own},
	}, app.Process{
		Args: []string{"worker", "-runner", "temporal://localhost:7233?heartbeat=soon"}, Err: os.Stdout,
	})
	fmt.Println("exit code", code)
	// Output:
	// desk: -runner: heartbeat "soon": use a positive duration, such as 5s
	// exit code 1
}
