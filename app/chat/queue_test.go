// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/view"
)

// What is typed while a turn runs waits at the agent, for every surface. Ctrl-C stops the turn and
// nothing else.
func TestWhatIsTypedDuringATurnWaitsAtTheAgent(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	h, asked, answer := p.hosting(t)
	wait := p.start(t)
	screen.waitFor(t, "Enter sends")
	screen.types("first", "\r")
	require.Equal(t, "first", <-asked)
	screen.types("second", "\r")
	screen.waitFor(t, "waits 1: second")
	screen.types("third", "\r", "fourth", "\r", "/waiting", "\r")
	screen.waitFor(t, "waits 3: fourth")
	require.Equal(t, []string{"second", "third", "fourth"}, waiting(t, h.Sessions()[0]))
	screen.types("/waiting edit 2 THIRD", "\r")
	screen.waitFor(t, "waits 2.2: THIRD")
	screen.types("/waiting remove 3", "\r")
	screen.waitFor(t, "Removed")
	screen.types("\x03")
	require.Equal(t, "second", <-asked, "the next one begins")
	screen.waitFor(t, "Cancelled.")
	screen.waitAfter(t, screen.mark(), "Ctrl-C cancels") // the screen knows of it, too
	screen.types("steers", "\x13")
	screen.waitFor(t, "The running turn has it")
	answer <- "two"
	require.Equal(t, "steers", <-asked)
	answer <- "and more"
	require.Equal(t, "THIRD", <-asked)
	answer <- "three"
	screen.waitFor(t, "three")
	require.Empty(t, waiting(t, h.Sessions()[0]))
	screen.types("last", "\r")
	require.Equal(t, "last", <-asked)
	answer <- "four"
	screen.waitFor(t, "four")
	require.Empty(t, asked)
	screen.types("\x04")
	wait()
	shown := inPlain(p)
	require.Equal(t, 1, strings.Count(shown, "› THIRD"), "it is shown once, as it was changed:\n%s", shown)
	require.NotContains(t, shown, "› third")
	require.NotContains(t, shown, "› fourth")
	require.Equal(t, 1, strings.Count(shown, "› steers"))
	require.Equal(t, 1, strings.Count(shown, "› second"))
}

// inPlain is what a person has been shown, without colours.
func inPlain(p *person) string { return sgr.ReplaceAllString(p.out.String(), "") }

func waiting(t *testing.T, s *host.Session) (texts []string) {
	t.Helper()
	all, err := s.Waiting(t.Context())
	require.NoError(t, err)
	for _, w := range all {
		texts = append(texts, w.Parts[0].Text)
	}
	return texts
}

// keep serves an agent whose sessions are in dir. It writes down which process it is. It does not
// answer the prompt "hang".
func keep(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	store, err := sqlitestore.Open(filepath.Join(dir, "sessions"), sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	m := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		if text := last[len(last)-1].Text; text != "hang" {
			return model.Response(model.Text("answer to " + text)), nil
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	a, err := agent.New(agent.Config[none, string]{Name: "keeper", Model: m})
	if err != nil {
		return err
	}
	h, err := host.New(host.Config[none, string]{
		Agent: a, Store: store, Logger: slog.New(slog.DiscardHandler), Commands: []host.Command{host.WaitingCommand()},
	})
	if err != nil {
		return err
	}
	defer h.Close(context.Background())
	return acpbridge.ServeHost(context.Background(), h, acpbridge.Options{})
}

// A prompt that waits outlives the agent's process, which is killed in the middle of a turn. The
// next terminal runs it, once, and shows it.
func TestAPromptThatWaitsOutlivesAKilledAgent(t *testing.T) {
	dir := t.TempDir()
	p := newPerson(t)
	p.Agent.Args = []string{"keeping", dir}
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Enter sends")
	screen.types("hang", "\r")
	screen.waitFor(t, "Ctrl-C cancels")
	screen.types("before the kill", "\r")
	screen.waitFor(t, "waits 1: before the kill")
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	id, err := strconv.Atoi(string(pid))
	require.NoError(t, err)
	process, err := os.FindProcess(id)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	wait()

	next := newPerson(t)
	next.Dir, next.Continue = p.Dir, true
	next.Agent.Args = []string{"keeping", dir}
	screen = next.sitDown()
	wait = next.start(t)
	screen.waitFor(t, "answer to before the kill")
	screen.types("and now", "\r")
	screen.waitFor(t, "answer to and now")
	screen.types("\x04")
	wait()
	require.Equal(t, 1, strings.Count(inPlain(next), "› before the kill"))

	store, err := sqlitestore.Open(filepath.Join(dir, "sessions"), sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	a, err := agent.New(agent.Config[none, string]{Model: modeltest.Script()})
	require.NoError(t, err)
	h, err := host.New(host.Config[none, string]{Agent: a, Store: store})
	require.NoError(t, err)
	defer h.Close(t.Context())
	page, err := store.List(t.Context(), session.Query{})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	s, err := h.Open(t.Context(), page.Sessions[0].ID, nil)
	require.NoError(t, err)
	require.Empty(t, waiting(t, s))
	var said []string
	for u, err := range s.Watch(t.Context(), "") {
		require.NoError(t, err)
		for _, c := range u.Changes {
			if e := c.Entity; e != nil && e.Kind == view.Message && e.Role == view.User {
				said = append(said, e.Text())
			}
		}
		break
	}
	require.Equal(t, []string{"hang", "before the kill", "and now"}, said)
}
