// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

var update = flag.Bool("update", false, "write the texts in testdata")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, string(want) == got, "go test -update writes it; the rest is different:\n%.3000s", rest(string(want), got))
}

// desk is a session without a connection: its handlers are called directly. It writes down what
// agents are answered, what people are asked, how the workspace is used, and what is shown.
type desk struct {
	t    *testing.T
	told *strings.Builder
	h    *handler
	s    *Session
	ctx  context.Context
	// answer answers the next questions.
	answer PermissionFunc
	shown  map[string]string
	fails  map[string]error // by uses of the workspace
}

// newDesk returns a session that is called "s", in /repo, in the middle of a turn.
func newDesk(t *testing.T, told *strings.Builder, config Config, files map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, told: told, ctx: t.Context(), shown: map[string]string{}, fails: map[string]error{}}
	memory, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Files: files, Command: func(workspace.Command) workspace.MemoryScript {
		return workspace.MemoryPrint("out", 3)
	}})
	require.NoError(t, err)
	config.Workspace = &noting{memory, memory.Features(), d}
	config.Permission = d.asks
	if config.MaxState == 0 {
		config.MaxState = 1 << 20
	}
	c := &Client{
		config: config, hello: &acp.InitializeResponse{AgentInfo: &acp.Implementation{Name: "a"}}, served: make(chan struct{}),
		reading: make(chan struct{}, maxReading), sessions: map[acp.SessionID]*Session{}, early: map[acp.SessionID][]*acp.SessionUpdate{},
	}
	c.ctx, c.cancel = context.WithCancelCause(t.Context())
	s, _, err := c.prepare(SessionConfig{})
	require.NoError(t, err)
	s.id = "s"
	require.NoError(t, c.register(s, "test"))
	s.turn = &turn{done: make(chan struct{})}
	s.turn.ctx, s.turn.cancel = context.WithCancelCause(c.ctx)
	s.fold.beginTurn(nil)
	d.h, d.s = &handler{client: c}, s
	return d
}

// asks notes a question, and answers it.
func (d *desk) asks(ctx context.Context, r *PermissionRequest) (acp.PermissionOptionID, error) {
	require.Same(d.t, d.s, r.Session)
	call := ""
	if r.Call != nil {
		call = " of " + r.Call.ID
	}
	a, _ := json.Marshal(r.Approval)
	options, _ := json.Marshal(r.Options)
	fmt.Fprintf(d.told, "  asked%s: tool %q, unasked %t\n    %s\n    %s\n", call, r.Tool, r.Unasked, squeezed(string(a)), squeezed(string(options)))
	return d.answer(ctx, r)
}

// chooses answers with the option of a kind.
func chooses(kind acp.PermissionOptionKind) PermissionFunc {
	return func(_ context.Context, r *PermissionRequest) (acp.PermissionOptionID, error) {
		return r.Option(kind), nil
	}
}

// does makes a call of a handler, and writes down all that comes of it.
func does[R, A any](d *desk, handle func(context.Context, *R) (*A, error), request string) *A {
	d.t.Helper()
	fmt.Fprintf(d.told, "\n%T %s\n", *new(R), squeezed(request))
	r := new(R)
	require.NoError(d.t, acp.Unmarshal([]byte(request), r), request)
	answer, err := handle(d.ctx, r)
	if err != nil {
		require.Nil(d.t, answer)
		text := err.Error()
		if e, ok := err.(*acp.Error); ok {
			text = fmt.Sprintf("%d %s", e.Code, e.Message)
		}
		fmt.Fprintf(d.told, "  error: %s\n", squeezed(text))
	} else {
		data, err := acp.Marshal(answer)
		require.NoError(d.t, err)
		fmt.Fprintf(d.told, "  answer: %s\n", squeezed(string(data)))
	}
	d.look()
	return answer
}

// look writes down what is shown now that was not before, and what was a problem.
func (d *desk) look() {
	for e := range d.s.Snapshot().All() {
		data, _ := json.Marshal(e)
		if text := string(data); d.shown[e.ID] != text {
			d.shown[e.ID] = text
			fmt.Fprintf(d.told, "  shown: %s\n", squeezed(text))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.shown)) {
		if d.s.Snapshot().Get(id) == nil {
			delete(d.shown, id)
			fmt.Fprintf(d.told, "  gone: %s\n", id)
		}
	}
	for _, p := range d.s.client.Problems() {
		fmt.Fprintf(d.told, "  problem: %s\n", squeezed(p.Error()))
	}
	d.s.client.problems = nil
}

var random = regexp.MustCompile(`terminal-[0-9A-Z]{26}`)

// squeezed shows many equal characters as one with their number, and hides random ids.
func squeezed(text string) string {
	var b strings.Builder
	all := []rune(random.ReplaceAllString(text, "terminal-ID"))
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n] == all[i] {
			n++
		}
		if n-i >= 12 {
			fmt.Fprintf(&b, "⟨%c×%d⟩", all[i], n-i)
		} else {
			b.WriteString(string(all[i:n]))
		}
		i = n
	}
	return b.String()
}

// noting is a workspace that writes down how it is used.
type noting struct {
	*workspace.Memory
	features workspace.Features
	d        *desk
}

func (w *noting) use(format string, args ...any) error {
	use := fmt.Sprintf(format, args...)
	what, _, _ := strings.Cut(use, " ")
	fmt.Fprintf(w.d.told, "  workspace: %s\n", squeezed(use))
	return w.d.fails[what]
}

func (w *noting) Features() workspace.Features { return w.features }

func (w *noting) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if err := w.use("read %s line %d lines %d", path, r.Line, r.Lines); err != nil {
		return workspace.File{}, err
	}
	return w.Memory.Read(ctx, path, r)
}

func (w *noting) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	what := "a version"
	switch v {
	case "":
		what = "none"
	case workspace.AnyVersion:
		what = "any version"
	}
	if err := w.use("write %s %q over %s", path, data, what); err != nil {
		return "", err
	}
	return w.Memory.Write(ctx, path, data, v)
}

func (w *noting) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	if err := w.use("start %+v", c); err != nil {
		return nil, err
	}
	return w.Memory.Start(ctx, c)
}

// statusOfAll are the states of what is shown of a kind.
func (d *desk) statusOfAll(kind view.Kind) (all []view.Status) {
	for e := range d.s.Snapshot().Of(kind) {
		all = append(all, e.Status)
	}
	return all
}

// gone is a process that has ended.
type gone struct{ workspace.Process }

func (gone) Close(context.Context) error { return nil }

// rest is what a text has from the first line on in which it differs from another one.
func rest(want, got string) string {
	for {
		a, more, _ := strings.Cut(want, "\n")
		b, left, ok := strings.Cut(got, "\n")
		if !ok || a != b {
			return got
		}
		want, got = more, left
	}
}
