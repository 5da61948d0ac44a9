// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// undoing is a session on a workspace in memory. Its model writes NAME=TEXT of a prompt that begins with "write", and runs a command for "run".
type undoing struct {
	t        *testing.T
	files    *workspace.Memory
	recorder *checkpoint.Recorder
	turns    host.Files
	store    session.Store
	h        *host.Host
	s        *host.Session
	last     *model.Request
}

func newUndoing(t *testing.T) *undoing {
	files, err := workspace.NewMemory(workspace.MemoryConfig{
		Files: map[string]string{"a": "one\n", "b": "one\n"}, Commands: map[string]workspace.MemoryScript{"make all": workspace.MemoryPrint("", 0)},
	})
	require.NoError(t, err)
	u := &undoing{t: t, files: files, store: durable{new(session.Memory)}}
	u.recorder = checkpoint.New(files, checkpoint.Options{})
	u.turns = checkpoint.NewTurns(u.recorder)
	u.start()
	return u
}

func (u *undoing) start() {
	type file struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	write := toolset.Func("write", "Write.", func(ctx context.Context, _ *toolset.RunContext[none], in file) (string, error) {
		_, err := u.recorder.Write(ctx, in.Name, []byte(in.Text+"\n"), workspace.AnyVersion)
		return "ok", err
	})
	run := toolset.Func("run", "Run.", func(ctx context.Context, _ *toolset.RunContext[none], _ none) (string, error) {
		_, err := u.recorder.Start(ctx, workspace.Command{Line: "make all"})
		return "ok", err
	})
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		u.last = req
		m := req.Messages[len(req.Messages)-1]
		if m.Parts[0].Kind != model.PartUser {
			return model.Response(model.Text("Done.")), nil
		}
		what, args, _ := strings.Cut(m.Parts[0].Text, " ")
		if what == "run" {
			return model.Response(model.ToolCall("c", "run", `{}`)), nil
		}
		said := []model.Part{model.Text("I see.")}
		for _, arg := range strings.Fields(args) {
			name, text, _ := strings.Cut(arg, "=")
			if what == "write" {
				said = append(said, model.ToolCall("c"+name, "write", `{"name":"`+name+`","text":"`+text+`"}`))
			}
		}
		return model.Response(said...), nil
	})
	u.h = newHost(u.t, host.Config[none, string]{
		Agent: newAgent(m, write, run), Store: u.store, Files: func(none) host.Files { return u.turns }, Commands: host.BuiltIns(nil),
	})
	if u.s == nil {
		u.s = create(u.t, u.h)
		return
	}
	s, err := u.h.Open(u.t.Context(), u.s.ID(), nil)
	require.NoError(u.t, err)
	u.s = s
}

// restart ends the process and starts the next one.
func (u *undoing) restart() {
	require.NoError(u.t, u.h.Close(context.Background()))
	u.start()
}

// says sends a prompt and returns what the model was told with it, and with everything before it.
func (u *undoing) says(text string) (now, before string) {
	u.t.Helper()
	o := prompt(u.t, u.s, text)
	require.NoError(u.t, o.Err)
	var all []string
	for _, m := range u.last.Messages {
		var b strings.Builder
		for _, p := range m.Parts {
			b.WriteString(p.Text + "\n")
		}
		if m.Kind == model.KindRequest && m.Parts[0].Kind == model.PartUser {
			all = append(all, b.String())
		}
	}
	return all[len(all)-1], strings.Join(all[:len(all)-1], "")
}

func (u *undoing) file(name string) string {
	f, err := u.files.Read(u.t.Context(), name, workspace.Range{})
	require.NoError(u.t, err)
	return string(f.Data)
}

func (u *undoing) types(name, text string) {
	_, err := u.files.Write(u.t.Context(), name, []byte(text), workspace.AnyVersion)
	require.NoError(u.t, err)
}

// A conversation that would forget a file which stays is not rewound. The person and the model are told which files went back, which stay and why,
// on each way to rewind, and in the next process.
func TestRewindStopsAtFilesThatStay(t *testing.T) {
	for name, rewind := range map[string]func(*undoing, string){
		"/undo": func(u *undoing, _ string) { require.NoError(u.t, prompt(u.t, u.s, "/undo").Err) },
		"Rewind": func(u *undoing, turn string) {
			note, err := u.s.Rewind(u.t.Context(), transcript.PromptID(turn))
			stay, ok := errors.AsType[*host.FilesStayError](err)
			require.True(u.t, ok, "%v", err)
			require.Equal(u.t, "Files taken back: b", note)
			require.ErrorIs(u.t, err, checkpoint.ErrConflict)
			require.Contains(u.t, stay.Text(), "someone else has changed")
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUndoing(t)
			turn := prompt(t, u.s, "write a=two b=two").Turn
			u.types("a", "typed\n")
			rewind(u, turn)
			require.Equal(t, "typed\n", u.file("a"))
			require.Equal(t, "one\n", u.file("b"))
			all := shown(t, u.s)
			require.Contains(t, all, "The conversation was not taken back, because not all files were.")
			require.Contains(t, all, "Files taken back: b")
			require.Contains(t, all, "a (someone else has changed the same or adjacent lines since)")
			require.Contains(t, all, "write a=two b=two")
			u.restart()
			require.Equal(t, all, shown(t, u.s))

			now, before := u.says("And now?")
			require.Contains(t, before, "write a=two b=two")
			require.Contains(t, now, "Files taken back: b")
			require.Contains(t, now, "a (someone else has changed the same or adjacent lines since)")
			require.Contains(t, now, "The messages above still hold.")
			all = shown(t, u.s)
			require.NotContains(t, all, "The messages above still hold.", "it is not what the user wrote")
			u.restart()
			require.Equal(t, all, shown(t, u.s))
			now, before = u.says("Again?")
			require.NotContains(t, now, "someone else", "it is told once")
			require.Contains(t, before, "someone else")

			// The prompt that had the note goes, the note does not.
			require.NoError(t, prompt(t, u.s, "/undo").Err)
			require.NoError(t, prompt(t, u.s, "/undo").Err)
			now, before = u.says("Third.")
			require.NotContains(t, before, "And now?")
			require.Contains(t, now, "someone else")

			// What was in the way is gone.
			u.types("a", "two\n")
			require.NoError(t, prompt(t, u.s, "/undo").Err)
			require.NoError(t, prompt(t, u.s, "/undo").Err)
			require.Equal(t, "one\n", u.file("a"))
			_, before = u.says("Fourth.")
			require.Empty(t, before)
		})
	}
}

func TestRewindTellsModelOfFilesAndCommands(t *testing.T) {
	u := newUndoing(t)
	prompt(t, u.s, "write a=two")
	prompt(t, u.s, "run")
	prompt(t, u.s, "/undo")
	require.Contains(t, shown(t, u.s), "Not taken back is what commands changed: make all")
	prompt(t, u.s, "/undo")
	fork, err := u.h.Fork(t.Context(), u.s.ID(), "", session.New{})
	require.NoError(t, err)
	now, before := u.says("Next.")
	require.Empty(t, before)
	require.Contains(t, now, "Not taken back is what commands changed: make all")
	require.Contains(t, now, "Files taken back: a")
	require.Contains(t, now, "The user took back earlier messages")
	u.s, err = u.h.Open(t.Context(), fork.ID, nil)
	require.NoError(t, err)
	now, _ = u.says("In the fork.")
	require.Contains(t, now, "Files taken back: a")
}

// A turn whose changes are not recorded stays, because it may have changed files; without a tool call it has not.
func TestTurnThatIsNotRecordedIsRewoundWithoutCallsOnly(t *testing.T) {
	u := newUndoing(t)
	prompt(t, u.s, "write a=two")
	prompt(t, u.s, "hello")
	u.recorder = checkpoint.New(u.files, checkpoint.Options{})
	u.turns = checkpoint.NewTurns(u.recorder)
	prompt(t, u.s, "/undo")
	require.NotContains(t, shown(t, u.s), "hello\"", "the prompt")
	prompt(t, u.s, "/undo")
	require.Contains(t, shown(t, u.s), "Files stay as they are: their changes are not recorded here.")
	require.Equal(t, "two\n", u.file("a"))
	now, before := u.says("Next.")
	require.Contains(t, before, "write a=two")
	require.Contains(t, now, "their changes are not recorded here")
}

// An undo that ends halfway has not rewound the conversation.
func TestRewindThatIsCancelledTellsBoth(t *testing.T) {
	u := newUndoing(t)
	turn := prompt(t, u.s, "write a=two").Turn
	ctx, cancel := context.WithCancel(t.Context())
	u.turns = cancelling{u.turns, cancel}
	_, err := u.s.Rewind(ctx, transcript.PromptID(turn))
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, shown(t, u.s), "The conversation was not taken back")
	now, before := u.says("Next.")
	require.Contains(t, before, "write a=two")
	require.Contains(t, now, "The user tried to take back")
}

// cancelling ends the context in an undo.
type cancelling struct {
	host.Files
	cancel context.CancelFunc
}

func (c cancelling) Undo(ctx context.Context, turn string) (string, error) {
	c.cancel()
	return c.Files.Undo(ctx, turn)
}
