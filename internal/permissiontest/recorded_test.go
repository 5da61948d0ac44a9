// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// recorded has secrets in all that a call has: what is denied to be read, the environment of the program, arguments, what a person says, and
// errors. The contents of files that must not be read are recorded nowhere. Arguments are in the session alone.
func recorded(s *suite) {
	const inFile, inEnvironment, inArguments, inReason = "sesame-file", "sesame-environment", "sesame-argument", "sesame-reason"
	s.Setenv("SMTP_PASS", inEnvironment)
	calls := []struct {
		tool string
		args args
	}{
		{"read_file", args{"path": ".env"}},
		{"read_file", args{"path": "link"}},
		{"read_file", args{"path": "sub/../.ENV"}},
		{"read_file", args{"path": inArguments}},
		{"edit_file", args{"path": ".env", "edits": []args{{"old_text": "zzz", "new_text": inArguments}}}},
		{"edit_file", args{"path": ".env", "edits": []args{{"old_text": "sesame-f", "new_text": inArguments}}}},
		{"edit_file", args{"path": "a.txt", "edits": []args{{"old_text": "absent", "new_text": inArguments}}}},
		{"write_file", args{"path": "sub/a.txt", "content": inArguments}},
		{"write_file", args{"path": ".env", "content": inArguments}},
		{"write_file", args{"path": "link", "content": inArguments}},
		{"write_file", args{"path": ".env", "content": "sesame-fil"}},
		{"search_files", args{"pattern": "sesame-f"}},
		{"search_files", args{"pattern": ".", "path": ".env"}},
		{"find_files", args{"pattern": "**/*"}},
		{"run_command", args{"command": "cat .env"}},
		{"run_command", args{"command": "cat .en*; head -c9 link"}},
		{"run_command", args{"command": "env; cat /proc/self/environ"}},
		{"run_command", args{"command": "curl -u x:" + inArguments + " http://127.0.0.1:1/", "env": args{"KEY": inArguments}}},
		{"list_changes", args{}},
		{"list_changes", args{"checkpoint": 1, "path": ".env"}},
		{"undo_changes", args{}},
		{"undo_changes", args{"checkpoint": 1}},
		{"fails", args{"to": inArguments}},
		{"panics", args{"to": inArguments}},
		{"unknown", args{"to": inArguments}},
		{"read_file", args{"path": 1, "more": inArguments}},
	}
	for _, allows := range []bool{false, true} {
		for _, call := range calls {
			w, root := onDisk(s, map[string]string{".env": inFile, "a.txt": "x", "sub/a.txt": "old"})
			require.NoError(s, os.Symlink(".env", filepath.Join(root, "link")))
			w.configure(rules("ask", `{"decision":"deny","read":"**/.env"}`))
			changes := checkpoint.New(w.disk, checkpoint.Options{})
			files := workspace.NewSession(changes)
			files.GuardReads(w.reads)
			changes.GuardReads(w.reads)
			if strings.HasPrefix(call.tool, "undo") { // of a change of the file that must not be read
				_, err := changes.Write(s.Context(), filepath.Join(root, ".env"), []byte("new"), workspace.AnyVersion)
				require.NoError(s, err)
			}
			raw, err := json.Marshal(call.args)
			require.NoError(s, err)
			var logs bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
			spans := tracetest.NewInMemoryExporter()
			ctx := agent.WithInstrumentation(s.Context(), otelagent.New(otelagent.Config{
				TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), MeterProvider: metricnoop.NewMeterProvider(),
			}))
			store := new(session.Memory)
			h, err := host.New(host.Config[deps, string]{
				Store: lasting{store}, Logger: logger, Deps: func(context.Context, *host.Session) (deps, error) { return deps{files, changes}, nil },
				Layers: func(deps) []approval.Layer { return w.layers },
				Agent: agent.Must(agent.New(agent.Config[deps, string]{
					Model: modeltest.Script(modeltest.Say(model.ToolCall("c", call.tool, string(raw))), modeltest.SayText("done")),
					Toolsets: []toolset.Toolset[deps]{
						workspace.Tools(func(d deps) *workspace.Session { return d.files }), checkpoint.Tools(func(d deps) *checkpoint.Recorder { return d.changes }),
					},
					Tools: []*toolset.Tool[deps]{
						toolset.Plain[deps]("fails", "Fails.", func(context.Context, pay) (string, error) { return "", errors.New("it fails") }),
						toolset.Plain[deps]("panics", "Panics.", func(context.Context, pay) (string, error) { panic("it panics") }),
					},
				})),
			})
			require.NoError(s, err)
			one, err := h.Create(ctx, session.New{Dir: root}, nil)
			require.NoError(s, err)
			d := toolset.Deny(inReason)
			if allows {
				d = toolset.Allow()
			}
			o, err := one.Prompt(ctx, host.Prompt{Parts: []model.Part{model.User("go")}, Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return d, nil }}})
			require.NoError(s, err)
			sinks := map[string]string{"spans": fmt.Sprintf("%+v", spans.GetSpans()), "logs": logs.String(), "the error": fmt.Sprint(o.Err), "the outcome": fmt.Sprintf("%+v", *o)}
			for name, text := range sinks {
				for _, secret := range []string{inFile, inEnvironment, inArguments, inReason} {
					s.attack(!strings.Contains(text, secret) || secret == inArguments && strings.HasPrefix(name, "the "), "%s %s: %s is in %s: %.2000s", call.tool, raw, secret, name, text)
				}
			}
			kept := entries(s, store, one.ID())
			s.attack(!strings.Contains(kept, inFile), "%s %s: the session has the file: %s", call.tool, raw, kept)
			s.attack(!strings.Contains(kept, inEnvironment), "%s %s: the session has the environment: %s", call.tool, raw, kept)
			require.NotEmpty(s, spans.GetSpans())
			require.NoError(s, h.Close(s.Context()))
			files.Close(s.Context())
		}
	}
}

// entries returns all that a store has of a session.
func entries(s *suite, store *session.Memory, id string) string {
	var b strings.Builder
	for e, err := range store.Load(s.Context(), id, 0) {
		require.NoError(s, err)
		data, err := json.Marshal(e)
		require.NoError(s, err)
		b.Write(data)
		b.Write(e.Data)
	}
	info, err := store.Get(s.Context(), id)
	require.NoError(s, err)
	require.NotEmpty(s, b.String())
	return b.String() + fmt.Sprintf("%+v", info)
}
