// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// connectBy is connect with a connection that calls around with the name of each method and the call itself.
func connectBy(t *testing.T, blobs temporalengine.Blobs, around func(method string, call func() error) error) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: shared.server.address, DataConverter: temporalengine.Converter(blobs), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				return around(method[strings.LastIndexByte(method, '/')+1:], func() error { return invoker(ctx, method, req, reply, cc, opts...) })
			},
		)}},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// waiter is an agent with a tool that counts its calls. The first one is held up.
func waiter(calls *atomic.Int32, hold func(ctx context.Context) error) *agent.Agent[deps, report] {
	return agent.Must(agent.New(agent.Config[deps, report]{
		Name: "waiter", Model: said(model.Response(model.ToolCall("w", "wait", `{}`)), model.Response(final("done"))),
		Tools: []*toolset.Tool[deps]{toolset.Func("wait", "Wait.", func(ctx context.Context, _ *toolset.RunContext[deps], _ struct{}) (string, error) {
			if calls.Add(1) == 1 {
				return "", hold(ctx)
			}
			return "at last", nil
		})},
	}))
}

// TestStoppedWorkerGivesItsCallsBack: other workers get them at once, and do not wait until the heartbeat of a worker is missed that has ended.
func TestStoppedWorkerGivesItsCallsBack(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	// The process would be gone by the time that the SDK reports.
	leaving := connectBy(t, blobs, func(method string, call func() error) error {
		if strings.HasPrefix(method, "RespondActivityTaskFailed") {
			time.Sleep(300 * time.Millisecond)
		}
		return call()
	})
	var calls atomic.Int32
	working := make(chan struct{})
	cfg := config(waiter(&calls, func(ctx context.Context) error {
		close(working)
		<-ctx.Done()
		return ctx.Err()
	}), blobs)
	queue, tools := rand.Text(), rand.Text()
	cfg.Tool = func(string) temporalengine.Activity {
		return temporalengine.Activity{TaskQueue: tools, Heartbeat: 10 * time.Minute, Timeout: time.Hour}
	}
	work(t, c, queue, worker.Options{}, cfg)
	stop := work(t, leaving, tools, worker.Options{}, cfg)
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	<-working
	stop()
	leaving.Close()
	work(t, c, tools, worker.Options{}, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res, err := run.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "at last", res.Messages[2].Parts[0].Text)
}

// TestAttemptThatWasGivenUpIsNotExecuted: what was sent to a worker that was stopped for a time has been given to another one.
func TestAttemptThatWasGivenUpIsNotExecuted(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	const beats = time.Second
	sent, goOn, reported := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var tasks, reports atomic.Int32
	stopped := connectBy(t, blobs, func(method string, call func() error) error {
		err := call()
		switch {
		case method == "PollActivityTaskQueue" && err == nil: // the SDK polls more than once
			if tasks.Add(1) == 1 {
				close(sent)
			}
			<-goOn
		case strings.HasPrefix(method, "RespondActivityTask") && reports.Add(1) == 1:
			close(reported)
		}
		return err
	})
	var calls atomic.Int32
	cfg := config(waiter(&calls, func(context.Context) error { return nil }), blobs)
	queue, tools := rand.Text(), rand.Text()
	cfg.Tool = func(string) temporalengine.Activity {
		return temporalengine.Activity{TaskQueue: tools, Heartbeat: beats}
	}
	work(t, c, queue, worker.Options{}, cfg)
	work(t, stopped, tools, worker.Options{MaxConcurrentActivityTaskPollers: 1, MaxConcurrentActivityExecutionSize: 1}, cfg)
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	<-sent
	work(t, c, tools, worker.Options{}, cfg)
	_, err = run.Result(t.Context())
	require.NoError(t, err)
	close(goOn)
	<-reported
	require.EqualValues(t, 1, calls.Load(), "the second attempt alone")
}
