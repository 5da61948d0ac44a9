// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// Users hear what is wrong with a store and what to do, and nothing of its texts.
func TestErrorsOfStoresAreToldWithAdvice(t *testing.T) {
	secret := errors.New("disk /dev/secret")
	for cause, do := range map[error]string{
		session.ErrUnavailable: "try again", session.ErrBusy: "try again", session.ErrFull: "try again when there is room; nothing is lost", session.ErrReadOnly: "try again when it can be",
		session.ErrVersion: "the server has to be updated", session.ErrCorrupt: "start another session, or have this one salvaged",
	} {
		require.Equal(t, cause.Error()+": "+do, host.ErrorText(fmt.Errorf("%w: %w", cause, secret)))
		require.Equal(t, cause.Error()+": "+do, host.ErrorText(&session.Error{Op: "append", Session: "s", Err: cause}))
	}
	require.Equal(t, "The session is open in editor, process 7. Close it there, and try again.", host.ErrorText(&session.Error{Op: "open", Err: session.ErrHeld, Holder: "editor, process 7"}))
	require.Equal(t, "The session was closed. Try again.", host.ErrorText(&session.Error{Op: "open", Err: session.ErrHeld}))
	require.Equal(t, "The session was closed. Try again.", host.ErrorText(fmt.Errorf("x: %w", host.ErrClosed)))
	require.NotContains(t, host.ErrorText(secret), "secret")
}

// Texts of a program for users are one line of at most 2,000 bytes. One that panics or says nothing is replaced.
func TestTextsOfErrorsAreShortLines(t *testing.T) {
	boom := errors.New("boom")
	said := ""
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), ErrorText: func(error) string {
		if said == "panic" {
			panic(said)
		}
		return said
	}})
	for text, want := range map[string]string{
		"one\n  two\x1b": "one two⟨ESC⟩", strings.Repeat("x", 2000): strings.Repeat("x", 2000), strings.Repeat("x", 2001): strings.Repeat("x", 2000) + "…",
		strings.Repeat("x", 1999) + "é": strings.Repeat("x", 1999) + "…", "": host.ErrorText(boom), "panic": host.ErrorText(boom),
	} {
		said = text
		require.Equal(t, want, h.ErrorText(boom))
	}
	require.Empty(t, h.ErrorText(nil))
}

func TestMistakesOfConfigurationsAreTold(t *testing.T) {
	stateful := agent.Must(agent.New(agent.Config[none, string]{Model: echo(), Toolsets: []toolset.Toolset[none]{new(counted)}}))
	for want, c := range map[string]host.Config[none, string]{
		"": {Agent: newAgent(echo()), Currency: "EUR", Window: 1, Busy: host.BusySteer}, "host: config: Agent is nil: make one with agent.New": {},
		"host: config: Busy is 3: use BusyRefuse, BusyQueue or BusySteer":                                                                    {Agent: newAgent(echo()), Busy: host.BusySteer + 1},
		"host: config: Window must not be negative":                                                                                          {Agent: newAgent(echo()), Window: -1},
		`host: config: Currency is "EURO": use a code of three letters, such as EUR`:                                                         {Agent: newAgent(echo()), Currency: "EURO"},
		`host: config: Currency is "eur": use a code of three letters, such as EUR`:                                                          {Agent: newAgent(echo()), Currency: "eur"},
		`host: config: the setting "a": ids must be unique and not empty`:                                                                    {Agent: stateful, Settings: []host.Setting{{Setting: view.Setting{ID: "a", Switch: true, Value: "true"}}, {Setting: view.Setting{ID: "a", Switch: true, Value: "false"}}}},
		`host: config: the command "a b": use letters, digits, and characters of "_-.:"` + "\n" + `host: config: the command "c" has no Run`: {Agent: newAgent(echo()), Commands: []host.Command{{Name: "a b"}, {Name: "c"}}},
	} {
		h, err := host.New(c)
		if want == "" {
			require.NoError(t, err)
			require.NoError(t, h.Close(t.Context()))
			continue
		}
		require.EqualError(t, err, want)
	}
}

// lastWords sends a prompt, and returns the last message that is shown.
func lastWords(t *testing.T, s *host.Session, text string) string {
	t.Helper()
	require.NoError(t, prompt(t, s, text).Err)
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	return snapshot.Last(view.Message).Text()
}

type euros struct{}

func (euros) Price(_, name string, _ time.Time) (model.Price, bool) {
	return model.Price{Input: 1_000_000, Output: 2_000_000}, name == "known"
}

// What the built-in commands say, word for word.
func TestBuiltInCommandsInWords(t *testing.T) {
	answers := func(name string) model.Model {
		return model.Func(model.Info{Provider: "p", Name: name}, func(_ context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
			m := model.Response(model.Text("```\nYes."))
			m.Provider, m.Model, m.Usage = "p", name, model.Usage{InputTokens: 3, OutputTokens: 4}
			return m, nil
		})
	}
	read := toolset.Func("read", "\n Read\u202e it.\nMore.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "", nil })
	c := host.Config[none, string]{
		Agent: newAgent(answers("known"), read), Modes: []host.Mode{{ID: "ask", Title: "Ask", Description: "Asks."}, {ID: "code", Title: "Write code", Description: "Does."}}, Commands: host.BuiltIns(nil),
	}
	s := create(t, newHost(t, c))
	require.Equal(t, "- `ask` (current) Asks.\n- `code` Does.\n", lastWords(t, s, "/mode"))
	require.Equal(t, "There is no mode x. Choose one of these:\n\n- `ask` (current) Asks.\n- `code` Does.\n", lastWords(t, s, "/mode x"))
	require.Equal(t, "Mode: Write code", lastWords(t, s, "/mode write CODE"))
	require.Equal(t, "Mode: Ask", lastWords(t, s, "/mode ASK"))
	require.Equal(t, "- `read` Read⟨U+202E⟩ it.\n", lastWords(t, s, "/tools"))
	require.Equal(t, "/undo: there is nothing to take back", lastWords(t, s, "/undo"))
	require.Equal(t, "0 requests, 0 tokens in, 0 tokens out", lastWords(t, s, "/cost"))
	lastWords(t, s, "Hello?")
	lastWords(t, s, "Again?")
	require.Equal(t, "2 requests, 6 tokens in, 8 tokens out", lastWords(t, s, "/cost"))
	require.Equal(t, "Taken back: Again?", lastWords(t, s, "/undo"))
	exported := lastWords(t, s, "/export")
	require.True(t, strings.HasPrefix(exported, "````markdown\n"), exported)
	require.True(t, strings.HasSuffix(exported, "````"), exported)
	require.Contains(t, exported, "## User\n\nHello?\n\n## Assistant\n\n```\nYes.\n\n")
	help := lastWords(t, s, "/help")
	require.Contains(t, help, "- `/undo` Take back the last prompt and what followed from it.\n")
	require.Contains(t, help, "- `/export` Show the conversation as Markdown.\n")
	require.NotContains(t, help, "/model", "there is one model")
	var names []string
	for _, c := range s.Commands() {
		names = append(names, "/"+c.Name)
		require.Contains(t, help, "- `/"+c.Name)
	}
	require.Equal(t, "Unknown command /hepl. Did you mean /help? Commands: "+strings.Join(names, ", ")+". To send the text as it is, begin it with a space.", lastWords(t, s, "/hepl"))
	require.Equal(t, "Unknown command /zzzzzz. Commands: "+strings.Join(names, ", ")+". To send the text as it is, begin it with a space.", lastWords(t, s, "/zzzzzz"))

	empty := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(answers("x")), Commands: host.BuiltIns(nil)}))
	require.Equal(t, "There are no tools.", lastWords(t, empty, "/tools"))
	for name, want := range map[string]string{"known": "1 requests, 3 tokens in, 4 tokens out, cost 11.0000", "unknown": "1 requests, 3 tokens in, 4 tokens out, cost 0.0000 plus the cost of models without a known price"} {
		priced := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(answers(name)), Commands: host.BuiltIns(euros{})}))
		lastWords(t, priced, "Hello?")
		got := lastWords(t, priced, "/cost")
		if name == "unknown" {
			require.Contains(t, got, "plus the cost of models without a known price")
			continue
		}
		require.Equal(t, want, got)
	}
}

// The text of a conversation has its messages, its calls, and the questions that wait.
func TestMarkdownOfAConversation(t *testing.T) {
	var f view.Fold
	text := func(s string) []view.Content { return []view.Content{{Kind: view.Text, Text: s}} }
	for i, e := range []*view.Entity{
		{Kind: view.Message, Role: view.User, Content: text(" Hello. \n")}, {Kind: view.Thought, Content: text("Hm.")}, {Kind: view.Message, Role: view.Assistant},
		{Kind: view.ToolCall, Title: "Read `a`\n", Status: view.Completed}, {Kind: view.Question, Status: view.Pending, Title: "Pay?", Content: text("It costs money.")},
		{Kind: view.Question, Status: view.Completed, Title: "Old?"}, {Kind: view.Notice, Title: "Saved."}, {Kind: view.Message, Role: view.Assistant, Content: text("Yes.")},
	} {
		e.ID = fmt.Sprint(i)
		require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e}))
	}
	require.Equal(t, "## User\n\nHello.\n\n- `Read 'a'⟨LF⟩` (completed)\n\n*Not answered yet: Pay?. It costs money*\n\n## Assistant\n\nYes.\n\n", host.Markdown(f.Snapshot()))
	require.Empty(t, host.Markdown(nil))
}

// What is wrong with each file of a directory of prompts, and what its head says.
func TestTemplatesTellTheirMistakes(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	all, err := host.Templates(fstest.MapFS{
		"p/a b.md": file("x"), "p/big.md": file(strings.Repeat("x", 64<<10+1)), "p/raw.md": file("\xff"), "p/blank.md": file(" \n"), "p/dir.md/x": file("x"), "p/link.md": {Mode: fs.ModeNamedPipe},
		"p/most.md": file(strings.Repeat("x", 64<<10)), "p/head.md": file("---\r\nDescription: no\r\ndescription: 'It: does.'\r\nargument-hint:  \"what\" \r\nnothing\r\n---\r\nDo $ARGUMENTS and $ARGUMENTS."),
		"p/open.md": file("---\ndescription: x\nDo it."), "p/none.txt": file("x"),
	}, "p")
	require.EqualError(t, err, `host: template "a b.md": the name cannot be a command: use 1 to 64 letters, digits, and characters of "_-.:"
host: template "big.md": it has more than 65536 bytes
host: template "blank.md": it has no text
host: template "link.md": it is not a regular file
host: template "raw.md": it is not UTF-8`)
	got := map[string]string{}
	for _, c := range all {
		res, err := c.Run(t.Context(), &host.CommandCall{Args: "this"})
		require.NoError(t, err)
		bare, err := c.Run(t.Context(), &host.CommandCall{})
		require.NoError(t, err)
		got[c.Name] = c.Description + "|" + c.Hint + "|" + res.Prompt[:min(len(res.Prompt), 60)] + "|" + bare.Prompt[:min(len(bare.Prompt), 60)]
	}
	require.Equal(t, map[string]string{
		"head": "It: does.|what|Do this and this.|Do  and .", "open": "Prompt from open.md.|text|---\ndescription: x\nDo it.\n\nthis|---\ndescription: x\nDo it.",
		"most": "Prompt from most.md.|text|" + strings.Repeat("x", 60) + "|" + strings.Repeat("x", 60),
	}, got)
	many := fstest.MapFS{}
	for i := range 201 {
		many[fmt.Sprintf("p/c%03d.md", i)] = file("x")
	}
	all, err = host.Templates(many, "p")
	require.EqualError(t, err, "host: templates: p has more than 200")
	require.Len(t, all, 200)
	delete(many, "p/c200.md")
	all, err = host.Templates(many, "p")
	require.NoError(t, err)
	require.Len(t, all, 200)
}

// Questions about calls show the reason and all previews in full, and whatever cannot be seen in them.
func TestQuestionsShowAllOfThePreviews(t *testing.T) {
	old, now := "a", "b\u202e"
	tool := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "paid", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay\nnow?", Reason: "It costs\x1b money.", Preview: []toolset.Preview{{Text: "5 EUR"}, {Diff: &toolset.Diff{Path: "/a", Old: &old, New: &now}}, {Diff: &toolset.Diff{Path: "/b", Old: &old}}}}, nil
		}))
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(model.ToolCall("c", "pay", `{}`))), tool), Store: durable{new(session.Memory)}}))
	done := make(chan *host.Outcome, 1)
	go func() {
		o, _ := s.Prompt(context.WithoutCancel(t.Context()), say("Pay."))
		done <- o
	}()
	q := open(t, s, "")
	require.Equal(t, "Pay⟨LF⟩now?", q.Title)
	require.Equal(t, "pay", q.Name)
	var lines []string
	for _, c := range q.Content {
		lines = append(lines, string(c.Kind)+": "+c.Text)
	}
	require.Equal(t, "text: It costs⟨ESC⟩ money.", lines[0])
	require.Contains(t, lines[1], "5 EUR")
	require.Equal(t, "diff: ", lines[2])
	require.Equal(t, &view.FileChange{Path: "/a", Old: &old, New: now}, q.Content[2].Diff)
	require.True(t, strings.HasPrefix(lines[3], "text: The new text contains invisible characters:\n"), lines[3])
	require.Contains(t, lines[4], "/b")
	require.Len(t, lines, 5)
	s.Cancel()
	<-done
}
