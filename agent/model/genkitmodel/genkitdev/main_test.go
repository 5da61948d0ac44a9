// SPDX-License-Identifier: Apache-2.0

package genkitdev_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/firebase/genkit/go/genkit"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/genkitdev"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
)

// There is one Genkit for all tests, because Init changes the process. It is made before goroutines are counted, because
// it leaves some behind.
var (
	g          *genkit.Genkit
	reflection string // the address of its reflection server
	spans      = tracetest.NewInMemoryExporter()
)

func TestMain(m *testing.M) {
	if err := initGenkit(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leaktest.Main(m)
}

// initGenkit starts Genkit in its development environment, in a project that is removed afterwards.
func initGenkit() error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	project, err := os.MkdirTemp("", "genkitdev")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(project) }()
	if err := os.WriteFile(filepath.Join(project, "go.mod"), []byte("module project\n"), 0o600); err != nil {
		return err
	}
	if err := os.Chdir(project); err != nil {
		return err
	}
	defer func() { _ = os.Chdir(here) }()
	free, err := net.Listen("tcp", "127.0.0.1:0") // otherwise Genkit looks for a port from 3100 on, and may race with other processes
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(free.Addr().String())
	if err = errors.Join(err, free.Close()); err != nil {
		return err
	}
	for name, value := range map[string]string{"GENKIT_ENV": "dev", "GENKIT_TELEMETRY_SERVER": "", "GENKIT_REFLECTION_PORT": port} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	g = genkit.Init(context.Background())
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	reflection = "http://127.0.0.1:" + port
	return nil
}

// newGenkit returns another Genkit, outside of the development environment, where Init leaves nothing behind.
func newGenkit() *genkit.Genkit {
	_ = os.Unsetenv("GENKIT_ENV")
	defer func() { _ = os.Setenv("GENKIT_ENV", "dev") }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	return genkit.Init(ctx)
}

type none struct{}

type deps struct{ user string }

var registered atomic.Int64

// unique returns a name that no other flow has, even if a test is repeated.
func unique(name string) string {
	return fmt.Sprintf("%s_%d", strings.ReplaceAll(name, "/", "_"), registered.Add(1))
}

// register registers an agent as a flow, under a name derived from the test.
func register[O any](t *testing.T, config agent.Config[deps, O], options genkitdev.Options[deps]) (name string, flow *genkitdev.Flow[O]) {
	t.Helper()
	a, err := agent.New(config)
	require.NoError(t, err)
	name = unique(t.Name())
	flow, err = genkitdev.Register(g, name, a, options)
	require.NoError(t, err)
	return name, flow
}

func tools(all ...*toolset.Tool[deps]) []toolset.Toolset[deps] {
	return []toolset.Toolset[deps]{toolset.Of(all...)}
}

func tool(name string, fn func(ctx context.Context, run *toolset.RunContext[deps]) (string, error)) *toolset.Tool[deps] {
	return toolset.Func(name, "Does "+name+".", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
		return fn(ctx, run)
	})
}

func says(name, text string) *toolset.Tool[deps] {
	return tool(name, func(context.Context, *toolset.RunContext[deps]) (string, error) { return text, nil })
}

func call(id, tool string) model.Part { return model.ToolCall(id, tool, "{}") }

// answer is the reflection server's response to a run.
type answer struct {
	Chunks    []map[string]any
	Result    json.RawMessage
	Telemetry struct{ TraceID string }
	Error     *struct {
		Message string
		Code    int
	}
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a request to the reflection server.
func post(ctx context.Context, t *testing.T, path string, body any) *http.Response {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, reflection+path, bytes.NewReader(data))
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// run runs a flow as Genkit's tools do. Chunks are the lines before the last one.
func run(t *testing.T, name, input string, stream bool) answer {
	t.Helper()
	resp := post(t.Context(), t, fmt.Sprintf("/api/runAction?stream=%t", stream),
		map[string]any{"key": "/flow/" + name, "input": json.RawMessage(input)})
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var a answer
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range lines[:len(lines)-1] {
		var chunk map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &chunk), line)
		a.Chunks = append(a.Chunks, chunk)
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &a), string(data))
	return a
}

// result runs a flow that must succeed.
func result[O any](t *testing.T, name, input string) genkitdev.Output[O] {
	t.Helper()
	a := run(t, name, input, false)
	require.Nil(t, a.Error)
	var out genkitdev.Output[O]
	require.NoError(t, json.Unmarshal(a.Result, &out))
	return out
}

// asJSON encodes a value.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
