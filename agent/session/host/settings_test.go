// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// editor are tools that read and edit.
func editor(edited *int) []*toolset.Tool[none] {
	return []*toolset.Tool[none]{
		toolset.Func("read", "Read.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "text", nil }, toolset.OfKind(toolset.KindRead, "Read")),
		toolset.Func("edit", "Edit.", func(context.Context, *toolset.RunContext[none], none) (string, error) { *edited++; return "ok", nil },
			toolset.OfKind(toolset.KindEdit, "Edit"), toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
				text := "new"
				return &toolset.Approval{Title: "Edit a.go", Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "a.go", New: &text}}}}, nil
			})),
	}
}

func offered(req *model.Request) []string {
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return names
}

func TestModes(t *testing.T) {
	edited := 0
	call := modeltest.Say(model.ToolCall("c", "edit", `{}`))
	m := modeltest.Script(call, call, modeltest.SayText("done"), modeltest.SayText("planned"))
	store := durable{new(session.Memory)}
	c := host.Config[none, string]{Agent: newAgent(m, editor(&edited)...), Store: store, Modes: host.Modes()}
	s := create(t, newHost(t, c))
	require.Equal(t, "ask", s.Setting(host.SettingMode))
	asked := 0
	p := say("Edit.")
	p.Asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		asked++
		_, err := s.Set(t.Context(), host.SettingMode, "code") // holds at once
		return toolset.Allow(), err
	}}
	o, err := s.Prompt(t.Context(), p)
	require.NoError(t, err)
	require.NoError(t, o.Err)
	require.Equal(t, 1, asked)
	require.Equal(t, 2, edited)
	require.Contains(t, shown(t, s), "Allowed by: mode code")

	_, err = s.Set(t.Context(), host.SettingMode, "plan")
	require.NoError(t, err)
	require.NoError(t, prompt(t, s, "Plan.").Err)
	last := m.Requests()[len(m.Requests())-1]
	require.Equal(t, []string{"read"}, offered(last))
	require.Contains(t, last.Instructions, "plan mode")
}

func TestSettingsAreKeptWithTheSession(t *testing.T) {
	other := modeltest.Script(modeltest.SayText("from the other"))
	var told []view.Setting
	store := durable{new(session.Memory)}
	c := host.Config[none, string]{
		Agent: newAgent(echo()), Store: store,
		Models:   []host.Model{{ID: "own", Title: "Own", Model: echo()}, {ID: "other", Title: "Other", Model: other}},
		Thinking: []string{"off", "high"},
		Settings: []host.Setting{{Setting: view.Setting{ID: "fast", Title: "Fast", Switch: true, Value: "false"}, Options: func(value string) []agent.RunOption {
			return []agent.RunOption{agent.WithInstructions("fast: " + value)}
		}}},
	}
	h, err := host.New(c)
	require.NoError(t, err)
	s := create(t, h)
	stop := s.Announce(func(_ context.Context, e *view.Entity) {
		if e.Kind == view.Options {
			told = e.Settings
		}
	})
	defer stop()
	_, err = s.Set(t.Context(), host.SettingModel, "other")
	require.NoError(t, err)
	_, err = s.Set(t.Context(), "thinking", "high")
	require.NoError(t, err)
	all, err := s.Set(t.Context(), "fast", "true")
	require.NoError(t, err)
	require.Equal(t, all, told, "the full list is announced")
	require.Len(t, all, 3)
	require.Equal(t, []string{"other", "high", "true"}, []string{all[0].Value, all[1].Value, all[2].Value})
	require.Equal(t, []string{"model", "thought_level", ""}, []string{all[0].Category, all[1].Category, all[2].Category})
	_, err = s.Set(t.Context(), "fast", "maybe")
	require.ErrorIs(t, err, host.ErrSettingValue)
	_, err = s.Set(t.Context(), "slow", "true")
	require.ErrorIs(t, err, host.ErrNoSetting)
	require.NoError(t, prompt(t, s, "Hello").Err)
	require.Contains(t, shown(t, s), "from the other")
	req := other.Requests()[0]
	require.Equal(t, "high", req.Settings.Thinking)
	require.Contains(t, req.Instructions, "fast: true")
	require.NoError(t, h.Close(t.Context()))

	s, err = newHost(t, c).Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, all, s.Settings())
}

func TestConfigurationIsChecked(t *testing.T) {
	_, err := host.New(host.Config[none, string]{Busy: 7, Window: -1, Currency: "euros", Modes: []host.Mode{{ID: "a"}, {ID: "a"}},
		Settings: []host.Setting{{Setting: view.Setting{ID: "mode", Switch: true, Value: "true"}}, {Setting: view.Setting{ID: "x"}}},
		Commands: []host.Command{{Name: "a b"}, {Name: "ab"}},
	})
	for _, part := range []string{"Agent is nil", "Busy is 7", "Window must not", `Currency is "euros"`, "ids of its choices", `"mode": ids must be unique`, `value "" is not one`, `"a b": use letters`, "has no Run"} {
		require.ErrorContains(t, err, part)
	}
}

func TestUnknownCommandsAreExplained(t *testing.T) {
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Commands: host.BuiltIns(nil)}))
	prompt(t, s, "/exprot")
	all := shown(t, s)
	require.Contains(t, all, "Unknown command /exprot. Did you mean /export?")
	require.NotContains(t, all, `"/mode"`, "there are no modes")
	for n, text := range []string{"/usr/bin/env is where?", " /exprot"} {
		require.NoError(t, prompt(t, s, text).Err)
		require.Contains(t, shown(t, s), fmt.Sprintf("%s %s", []string{"I", "II"}[n], text), "that is an ordinary prompt")
	}
}

// Any white space ends the name of a command, whoever has commands.
func TestCommandsEndAtAnyWhiteSpace(t *testing.T) {
	own := agent.Must(agent.New(agent.Config[none, string]{Model: echo(), Commands: []agent.Command[none]{{Name: "own", Prompt: "Do it.", Hint: "how"}}}))
	for of, config := range map[string]host.Config[none, string]{"agent": {Agent: own}, "program": {Agent: newAgent(echo()), Commands: host.BuiltIns(nil)}} {
		s := create(t, newHost(t, config))
		for _, space := range []string{"", " ", "\n", "\r\n", "\t", "\u00a0"} {
			res := prompt(t, s, "/typo"+space+"it")
			if space == "" {
				res = prompt(t, s, "/typo")
			}
			require.Empty(t, res.Turn, "%s %q: it went to the model", of, space)
			require.Contains(t, shown(t, s), "Unknown command /typo.")
			if of == "program" {
				require.Empty(t, prompt(t, s, "/help"+space).Turn, "%q", space)
				require.False(t, s.IsAtOnce("/help"+space))
			}
		}
	}
}

func TestBuiltInCommands(t *testing.T) {
	edited := 0
	m := modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two"), modeltest.SayText("three"))
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(m, editor(&edited)...), Modes: host.Modes(), Commands: host.BuiltIns(nil)}))
	last := func(text string) string {
		t.Helper()
		require.NoError(t, prompt(t, s, text).Err)
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		return snapshot.Last(view.Message).Text()
	}
	require.Contains(t, last("/help"), "`/undo`")
	require.Contains(t, last("/mode"), "- `ask` (current)")
	require.Equal(t, "Mode: Plan", last("/mode PLAN"))
	require.Equal(t, "plan", s.Setting(host.SettingMode))
	require.Contains(t, last("/mode other"), "There is no mode other")
	tools := last("/tools")
	require.Contains(t, tools, "`read` Read.")
	require.NotContains(t, tools, "edit", "the mode does not offer it")
	require.Contains(t, last("/undo"), "nothing to take back")
	last("first")
	last("second")
	require.Contains(t, last("/cost"), "2 requests")
	require.Equal(t, "Taken back: second", last("/undo"))
	require.NotContains(t, shown(t, s), `"text":"two"`)
	require.Contains(t, last("/export"), "## Assistant\n\none")
	last("third")
	requests := m.Requests()
	require.Len(t, requests[len(requests)-1].Messages, 3, "what was taken back is not in the history")
}

// counted is a toolset that counts what is opened and not closed.
type counted struct{ open atomic.Int32 }

func (c *counted) Name() string { return "counted" }

func (c *counted) Open(context.Context, *toolset.RunContext[none]) (toolset.Instance[none], error) {
	c.open.Add(1)
	return c, nil
}

func (c *counted) Tools(context.Context, *toolset.RunContext[none]) (toolset.Listing[none], error) {
	return toolset.Listing[none]{}, nil
}

func (c *counted) Close(context.Context) error {
	c.open.Add(-1)
	return errors.New("it hangs a little")
}

func TestAListOfToolsClosesWhatItOpened(t *testing.T) {
	tools := new(counted)
	a := agent.Must(agent.New(agent.Config[none, string]{Model: echo(), Toolsets: []toolset.Toolset[none]{tools}}))
	s := create(t, newHost(t, host.Config[none, string]{Agent: a, Commands: host.BuiltIns(nil)}))
	require.NoError(t, prompt(t, s, "/tools").Err)
	require.Contains(t, shown(t, s), "it hangs a little")
	require.Zero(t, tools.open.Load())
}

func TestTemplatesAreCommands(t *testing.T) {
	files := fstest.MapFS{
		"prompts/review.md":   {Data: []byte("---\ndescription: Review\u202e it.\nargument-hint: \"path\"\n---\nReview $ARGUMENTS now.")},
		"prompts/plain.md":    {Data: []byte("Do it.\n")},
		"prompts/bad name.md": {Data: []byte("x")},
		"prompts/empty.md":    {Data: []byte("---\nx: y\n---\n")},
		"prompts/other.txt":   {Data: []byte("x")},
	}
	commands, err := host.Templates(files, "prompts")
	require.ErrorContains(t, err, "bad name.md")
	require.ErrorContains(t, err, "empty.md")
	require.Len(t, commands, 2)
	require.Equal(t, "Review⟨U+202E⟩ it.", commands[1].Description)
	require.Equal(t, "path", commands[1].Hint)
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Commands: commands}))
	prompt(t, s, "/review a.go")
	prompt(t, s, "/plain and well")
	all := shown(t, s)
	require.Contains(t, all, "I Review a.go now.")
	require.Contains(t, all, `II Do it.\n\nand well`)
	require.Contains(t, all, `"text":"/review a.go"`)
	none, err := host.Templates(files, "nowhere")
	require.NoError(t, err)
	require.Empty(t, none)
}
