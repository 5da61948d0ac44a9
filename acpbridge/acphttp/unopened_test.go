// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acphttp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// A client that has a list of sessions, or a wrong id, hears the answer although it has opened no stream for the session.
func TestAnswerAboutASessionThatIsNotOpenGoesOnTheConnectionsStream(t *testing.T) {
	store := new(session.Memory)
	_, url := newHandler(t, func(c *acphttp.Config) {
		c.Serve = func(ctx context.Context, in io.Reader, out io.Writer) error {
			a := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{Model: modeltest.Script(modeltest.SayText("hello"))}))
			return acpbridge.Serve(ctx, acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a, Store: store, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{In: in, Out: out}})
		}
	})
	first := begin(t, url)
	next := events(t, url, first)
	post := func(connection string, id int, method, params string) {
		t.Helper()
		resp := do(t, "POST", url, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params), connection)
		require.Equal(t, 202, resp.StatusCode)
	}
	for i, method := range []string{"session/load", "session/resume", "session/prompt", "session/close", "session/delete", "session/set_mode"} {
		post(first, 10+i, method, `{"sessionId":"unknown","cwd":"/repo","mcpServers":[],"prompt":[{"type":"text","text":"hi"}],"modeId":"x"}`)
		require.EqualValues(t, 10+i, next()["id"], method)
	}
	post(first, 2, "session/new", `{"cwd":"/repo","mcpServers":[]}`)
	id := next()["result"].(map[string]any)["sessionId"].(string)
	mine := events(t, url, first, acphttp.HeaderSession+": "+id)
	post(first, 3, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}`, id))
	for m := mine(); m["id"] == nil; m = mine() {
		require.NotNil(t, m)
	}
	post(first, 4, "session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
	require.EqualValues(t, 4, mine()["id"], "a session that is known here has its own stream")

	second := begin(t, url)
	next = events(t, url, second)
	post(second, 2, "session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":"/repo","mcpServers":[]}`, id))
	require.EqualValues(t, 2, next()["id"])
	post(second, 3, "session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
	mine = events(t, url, second, acphttp.HeaderSession+": "+id)
	for m := mine(); m["id"] == nil; m = mine() {
		require.NotNil(t, m, "it is known from now on")
	}
	third := begin(t, url)
	next = events(t, url, third)
	post(third, 2, "session/delete", fmt.Sprintf(`{"sessionId":%q}`, id))
	require.EqualValues(t, 2, next()["id"])
}
