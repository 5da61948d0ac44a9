// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	_ "github.com/ponte-go/ponte/app/telemetry"
)

// The environment says what is exported. A mistake in it is told, and the program works.
func Example() {
	says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{Model: says})),
		Surfaces: []app.Surface{chat.New(chat.Options{})},
	}, app.Process{
		Args: []string{"Where is order 17?"}, In: strings.NewReader(""), Out: os.Stdout, Err: os.Stdout,
		Getenv: func(name string) string { return map[string]string{"OTEL_TRACES_EXPORTER": "console"}[name] },
	})
	fmt.Println("exit code", code)
	// Output:
	// desk: telemetry: OTEL_TRACES_EXPORTER is console, which would write into the output: use otlp
	// It was delivered on Monday.
	// exit code 0
}
