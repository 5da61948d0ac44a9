// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// genkitCLI returns the path of Genkit's command line, and installs it if need be.
func genkitCLI(t testing.TB) string {
	return filepath.Join(installed(t, genkitPeers), "node_modules", "genkit-cli", "dist", "bin", "genkit.js")
}

var genkitPeers = sync.OnceValues(func() (string, error) { return nodePackages("genkit", "genkit") })

// genkitApp builds the program that genkitdev has for this test.
var genkitApp = sync.OnceValues(func() (string, error) {
	app := filepath.Join(scratch, "genkitapp")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", app, "./agent/model/genkitmodel/genkitdev/testdata/app")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return app, nil
})

// genkitUser has a project and a home of its own, in which the program runs under "genkit start".
type genkitUser struct {
	t         *testing.T
	cli       string
	project   string
	env       []string
	start     *exec.Cmd
	started   bytes.Buffer
	startedIn chan struct{} // closed when "genkit start" has ended
}

// startGenkit returns when the program has registered its flow. At the end of the test an interrupt, as from a terminal, has to end
// everything.
func startGenkit(t *testing.T, more ...string) *genkitUser {
	t.Helper()
	u := &genkitUser{t: t, cli: genkitCLI(t), startedIn: make(chan struct{})}
	app, err := genkitApp()
	if err != nil {
		t.Fatal(err)
	}
	if u.project, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	u.env = cleanEnv(append(more, "HOME="+t.TempDir(), "NO_COLOR=1", "GENKIT_REFLECTION_PORT="+port)...)
	if err := os.WriteFile(filepath.Join(u.project, "go.mod"), []byte("module project\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	variables := filepath.Join(u.project, "variables")
	u.start = u.command(context.Background(), "start", "--noui", "--write-env-file", variables, "--", app)
	u.start.Stdout, u.start.Stderr = &u.started, &u.started
	if err := startGroup(t, u.start); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(u.startedIn)
		_ = u.start.Wait()
	}()
	t.Cleanup(u.stop)
	u.await(func() bool { return listed("http://127.0.0.1:"+port+"/api/actions", "/flow/forecaster") })
	written, err := os.ReadFile(variables)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(written)) {
		if strings.HasPrefix(line, "GENKIT_TELEMETRY_SERVER=") { // or each command starts a server of its own
			u.env = append(u.env, strings.TrimSpace(line))
		}
	}
	return u
}

// command is a command of Genkit's that asks no questions: about analytics, which it does not send then, and about updates.
func (u *genkitUser) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "node", append([]string{u.cli, "--non-interactive", "--no-update-notification"}, args...)...)
	cmd.Dir, cmd.Env = u.project, u.env
	return cmd
}

// run runs a command and returns what it writes to either output. Genkit's commands end with code 0 even where they fail.
func (u *genkitUser) run(args ...string) string {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), patience)
	defer cancel()
	cmd := u.command(ctx, args...)
	var out lockedText
	cmd.Stdout, cmd.Stderr = &out, &out
	err := startGroup(u.t, cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		u.t.Fatalf("genkit %v: %v\n%s", args, err, &out)
	}
	return out.String()
}

// flow runs the program's flow, which must end well, and returns its output and the id of its trace.
func (u *genkitUser) flow(input string, args ...string) (printed, trace string, output map[string]json.RawMessage) {
	u.t.Helper()
	file := filepath.Join(u.project, "output.json")
	printed = u.run(append([]string{"flow:run", "forecaster", input, "--output", file}, args...)...)
	_, trace, ok := strings.Cut(printed, "Trace ID: ")
	if !ok {
		u.t.Fatalf("no trace:\n%s", printed)
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &output)
	}
	if err != nil {
		u.t.Fatalf("%v\n%s", err, printed)
	}
	return printed, strings.TrimSpace(trace), output
}

func (u *genkitUser) stop() {
	_ = syscall.Kill(-u.start.Process.Pid, syscall.SIGINT)
	select {
	case <-u.startedIn:
	case <-time.After(patience):
		u.t.Errorf("genkit start goes on after an interrupt")
		_ = syscall.Kill(-u.start.Process.Pid, syscall.SIGKILL)
		<-u.startedIn
	}
	mustBeGone(u.t, filepath.Join(scratch, "genkitapp"))
	if u.t.Failed() {
		u.t.Logf("genkit start wrote:\n%s", &u.started)
	}
}

// await waits until something is so.
func (u *genkitUser) await(so func() bool) {
	u.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		select {
		case <-u.startedIn:
			u.t.Fatalf("genkit start has ended")
		default:
		}
		if time.Now().After(deadline) {
			u.t.Fatal("the program has not registered its flow")
		}
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// listed reports whether a reflection server knows an action.
func listed(url, action string) bool {
	resp, err := http.Get(url)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	var actions map[string]json.RawMessage
	return json.NewDecoder(resp.Body).Decode(&actions) == nil && actions[action] != nil
}

// genkitSpan is a span as Genkit's tools keep it.
type genkitSpan struct {
	SpanID       string
	ParentSpanID string
	StartTime    float64
	Attributes   map[string]any
}

// attribute returns an attribute of Genkit's. The command line shows those that hold JSON as JSON.
func (s *genkitSpan) attribute(key string) string {
	value := s.Attributes["genkit:"+key]
	if text, ok := value.(string); ok {
		return text
	}
	return string(mustMarshal(value))
}

// trace returns the spans of a trace in the order in which they began, and their tree.
func (u *genkitUser) trace(id string) (spans []genkitSpan, tree string) {
	u.t.Helper()
	out := u.run("trace:get", id, "--format", "json")
	var trace struct{ Spans map[string]genkitSpan }
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &trace); err != nil {
		u.t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range trace.Spans {
		spans = append(spans, s)
	}
	slices.SortFunc(spans, func(a, b genkitSpan) int {
		if a.StartTime < b.StartTime {
			return -1
		}
		return 1
	})
	var b strings.Builder
	var show func(parent, indent string)
	show = func(parent, indent string) {
		for _, s := range spans {
			if s.ParentSpanID == parent {
				fmt.Fprintf(&b, "%s%s %s %s\n", indent, s.attribute("metadata:subtype"), s.attribute("name"), s.attribute("state"))
				show(s.SpanID, indent+"  ")
			}
		}
	}
	show("", "")
	return spans, b.String()
}

func TestGenkitsToolsRunAnAgent(t *testing.T) {
	deepTier(t)
	for i, s := range []struct {
		name string
		env  []string
	}{
		{"with spans of otelagent and Genkit's tracer provider", []string{"APP_OTELAGENT=1"}},
		{"with spans of genkitdev and the program's tracer provider", []string{"APP_PROVIDER=1"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			u := startGenkit(t, s.env...)
			printed, id, output := u.flow(`{"prompt": "Oslo?"}`, "--stream")
			wantText(t, printed, `"text": "Let "`, `"type": "tool_call"`, `"type": "tool_result"`, `"text": "ada asks for Oslo: clouds"`)
			if got, want := canonical(string(output["output"])), `{"city":"Oslo","hours":[],"summary":"ada asks for Oslo: clouds"}`; got != want {
				t.Errorf("the output is %s, want %s", got, want)
			}
			spans, tree := u.trace(id)
			if want := "flow forecaster success\n" +
				"  agent forecaster success\n" +
				"    model modeltest/func success\n" +
				"    tool weather success\n" +
				"    model modeltest/func success\n"; tree != want {
				t.Fatalf("the trace is\n%swant\n%s", tree, want)
			}
			wantText(t, spans[0].attribute("input"), `{"prompt":"Oslo?"}`)
			wantText(t, spans[1].attribute("input"), `{"text":"Oslo?"}`)
			wantText(t, spans[1].attribute("output"), `{"city":"Oslo",`)
			wantText(t, spans[2].attribute("input"), `{"text":"Give a forecast."}`, `"role":"system"`, `"name":"weather"`)
			wantText(t, spans[2].attribute("output"), `"toolRequest":{"input":{"city":"Oslo"}`)
			wantText(t, spans[3].attribute("input"), `{"city":"Oslo"}`)
			wantText(t, spans[3].attribute("output"), `ada asks for Oslo: clouds`)
			wantText(t, spans[4].attribute("input"), `"toolResponse"`)
			if i > 0 {
				return // the rest has nothing to do with where spans come from
			}
			wantText(t, u.run("trace:get", id), "forecaster (agent)", "weather (tool)", `User: "Oslo?"`)

			_, id, _ = u.flow(`{"prompt": "And now?", "history": ` + string(output["messages"]) + `}`)
			spans, _ = u.trace(id)
			wantText(t, spans[2].attribute("input"), `"Oslo?"`, `"And now?"`)

			wantText(t, u.run("flow:run", "forecaster", `{"prompt": "trouble"}`), "agent forecaster: model", "out of paper")
			wantText(t, u.run("trace:list"), id, "Status:   error")
		})
	}
}
