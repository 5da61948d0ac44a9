// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// eventually waits for something that another process causes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// same waits until two processes show the same.
func same(t *testing.T, one, two *host.Session) {
	t.Helper()
	var a, b string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if a, b = shown(t, one), shown(t, two); a == b {
			return
		}
	}
	require.Equal(t, a, b)
}

// pair returns a session that is open in two processes with one store. The model of both is that of a gate.
func pair(t *testing.T) (g *gate, store session.Store, here, there *host.Session) {
	t.Helper()
	store, g = new(session.Memory), newGate()
	a, b := machine(t, store, "here", g.model()), machine(t, store, "there", g.model())
	here = create(t, a)
	there, err := b.Open(t.Context(), here.ID(), nil)
	require.NoError(t, err)
	return g, store, here, there
}

// runs runs a prompt that waits for its turn.
func runs(t *testing.T, s *host.Session, text string) <-chan *host.Outcome {
	t.Helper()
	admitted, err := s.AdmitWith(context.WithoutCancel(t.Context()), host.BusyQueue)
	require.NoError(t, err)
	ended := make(chan *host.Outcome, 1)
	go func() { ended <- admitted.Run(say(text)) }()
	return ended
}

func waitingTexts(t *testing.T, s *host.Session) (texts []string) {
	t.Helper()
	all, err := s.Waiting(t.Context())
	require.NoError(t, err)
	for _, w := range all {
		texts = append(texts, w.Parts[0].Text)
	}
	return texts
}

// shownWaiting returns the prompts that wait, as the session shows them.
func shownWaiting(t *testing.T, s *host.Session) (texts []string) {
	t.Helper()
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	for e := range snapshot.All() {
		if e.Kind == view.Waiting {
			texts = append(texts, e.Text())
		}
	}
	return texts
}

// TestATurnIsFollowedFromAnotherProcess shows a turn as it proceeds, also to whoever has run a turn before.
func TestATurnIsFollowedFromAnotherProcess(t *testing.T) {
	g, _, here, there := pair(t)
	for _, s := range []*host.Session{here, there, here} {
		other := there
		if s == there {
			other = here
		}
		ended := runs(t, s, "one")
		<-g.asked
		same(t, s, other)
		g.answer <- "done"
		require.NoError(t, (<-ended).Err)
		same(t, s, other)
	}
}

// TestPromptsWaitInTheInbox sends prompts while a turn runs, from both processes. They are shown, changed and removed anywhere, each runs
// once, and Stop ends the turn and leaves them.
func TestPromptsWaitInTheInbox(t *testing.T) {
	g, _, here, there := pair(t)
	first := runs(t, here, "first")
	require.Equal(t, "first", <-g.asked)
	var ended []<-chan *host.Outcome
	for i, text := range []string{"two", "three", "four"} {
		ended = append(ended, runs(t, []*host.Session{there, here, there}[i], text))
		eventually(t, "the prompt waits", func() bool { return len(waitingTexts(t, here)) == i+1 })
	}
	for _, s := range []*host.Session{here, there} {
		require.Equal(t, []string{"two", "three", "four"}, waitingTexts(t, s))
		eventually(t, "the prompts that wait are shown", func() bool { return len(shownWaiting(t, s)) == 3 })
	}
	all, err := there.Waiting(t.Context())
	require.NoError(t, err)
	two, three := all[0], all[1]
	require.NoError(t, here.EditWaiting(t.Context(), two.ID, two.Version, []model.Part{model.User("zwei")}, nil))
	require.ErrorIs(t, there.EditWaiting(t.Context(), two.ID, two.Version, []model.Part{model.User("deux")}, nil), session.ErrChanged)
	require.NoError(t, there.RemoveWaiting(t.Context(), three.ID, three.Version))
	require.ErrorIs(t, here.RemoveWaiting(t.Context(), three.ID, three.Version), session.ErrConsumed)

	there.Cancel() // the turn runs here
	require.Equal(t, transcript.Cancelled, (<-first).Reason)
	require.Equal(t, "zwei", <-g.asked)
	g.answer <- "2"
	o := <-ended[0]
	require.NoError(t, o.Err)
	require.Equal(t, transcript.Done, o.Reason)
	require.Equal(t, "four", <-g.asked)
	g.answer <- "4"
	require.NoError(t, (<-ended[2]).Err)
	require.ErrorIs(t, (<-ended[1]).Err, host.ErrCancelled, "it was removed")
	require.Empty(t, waitingTexts(t, here))
	for _, s := range []*host.Session{here, there} {
		eventually(t, "all is shown", func() bool { return len(shownWaiting(t, s)) == 0 && shown(t, s) == shown(t, here) })
	}
	require.NotContains(t, shown(t, here), "three")
}

// TestPromptsSurviveTheirProcess has a process die with prompts in the inbox: the next one that has the session open runs them.
func TestPromptsSurviveTheirProcess(t *testing.T) {
	store := new(session.Memory)
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(model.Text("done")), nil
	})
	s := create(t, machine(t, store, "here", m))
	for i, text := range []string{"one", "two"} {
		_, err := store.Put(t.Context(), s.ID(), session.Item{
			ID: []string{"a", "b"}[i], Kind: session.ItemPrompt, Time: time.Now().Add(-time.Minute), Data: []byte(`{"parts":[{"kind":"user","text":"` + text + `"}]}`),
		})
		require.NoError(t, err)
	}
	eventually(t, "the prompts are run", func() bool { info, err := store.Get(t.Context(), s.ID()); return err == nil && info.Waiting == 0 })
	eventually(t, "in order", func() bool {
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		var texts []string
		for e := range snapshot.All() {
			if e.Kind == view.Message {
				texts = append(texts, e.Text())
			}
		}
		return len(texts) == 4 && texts[0] == "one" && texts[2] == "two"
	})
}

// askedThere prompts a session, and returns the question as another process shows it.
func askedThere(t *testing.T, s, other *host.Session) (q *view.Entity, ended chan *host.Outcome) {
	t.Helper()
	ended = make(chan *host.Outcome, 1)
	go func() {
		p := say("Pay.")
		p.Wait = true
		o, _ := s.Prompt(context.Background(), p)
		ended <- o
	}()
	eventually(t, "the question is shown in the other process", func() bool {
		snapshot, _, err := other.Snapshot(t.Context())
		require.NoError(t, err)
		q = snapshot.Last(view.Question)
		return q != nil
	})
	return q, ended
}

// TestAnswersReachAnotherProcess answers a question of a turn that another process runs. A digest that is not the question's is refused.
func TestAnswersReachAnotherProcess(t *testing.T) {
	store := new(session.Memory)
	var paid []string
	var mu sync.Mutex
	here := machine(t, store, "here", modeltest.Script(modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid))
	there := machine(t, store, "there", echo(), pay(&paid))
	s := create(t, here)
	other, err := there.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	q, ended := askedThere(t, s, other)
	stale := allowed(q)
	stale.Digest = "of something else"
	require.ErrorIs(t, other.Decide(t.Context(), q.ID, "", stale), host.ErrChanged)
	require.ErrorIs(t, other.Decide(t.Context(), "question:x", "", allowed(q)), host.ErrNoQuestion)
	require.NoError(t, other.Decide(t.Context(), q.ID, "ada", allowed(q)))
	o := <-ended
	require.NoError(t, o.Err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"Ada"}, paid)
	require.ErrorIs(t, other.Decide(t.Context(), q.ID, "", allowed(q)), host.ErrNoQuestion)
	same(t, s, other)
}

// overtaken is a store that does something else before an item is put into an inbox.
type overtaken struct {
	shared
	before func()
}

func (o *overtaken) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	o.before()
	return o.shared.Put(ctx, id, i)
}

// An answer from another process that comes behind a different one is refused, although both were given to the same question.
func TestLaterAnswerOfAnotherProcessIsRefused(t *testing.T) {
	store := &overtaken{shared{new(session.Memory)}, func() {}}
	var paid []string
	here := machine(t, store.Memory, "here", modeltest.Script(modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid))
	there := newHost(t, host.Config[none, string]{Agent: newAgent(echo(), pay(&paid)), Store: store, Holder: "there"})
	s := create(t, here)
	other, err := there.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	q, ended := askedThere(t, s, other)
	store.before = func() {
		require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.RejectOnce}))
	}
	require.ErrorIs(t, other.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce}), host.ErrNoQuestion)
	require.NoError(t, (<-ended).Err)
	require.Empty(t, paid)
}

// An answer from another process to what is not shown any more when it arrives is refused, and runs nothing.
func TestAnswerOfAnotherProcessToWhatHasChangedIsRefused(t *testing.T) {
	store := &overtaken{shared{new(session.Memory)}, func() {}}
	f, done := &file{text: "one"}, []string(nil)
	here := machine(t, store.Memory, "here", modeltest.Script(modeltest.Say(model.ToolCall("c", "edit", `{"to":"two"}`)), modeltest.SayText("done")), edit(f, &done))
	there := newHost(t, host.Config[none, string]{Agent: newAgent(echo(), edit(f, &done)), Store: store, Holder: "there"})
	s := create(t, here)
	other, err := there.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	q, ended := askedThere(t, s, other)
	store.before = func() {
		store.before = func() {}
		f.set("another one")
		require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
		open(t, other, q.Digest)
	}
	require.ErrorIs(t, other.Decide(t.Context(), q.ID, "", allowed(q)), host.ErrChanged)
	require.Empty(t, done, "nobody has allowed what is shown now")
	require.NoError(t, other.Decide(t.Context(), q.ID, "", allowed(open(t, other, q.Digest))))
	require.NoError(t, (<-ended).Err)
	require.Equal(t, []string{"another one to two"}, done)
}

// TestSettingsReachAnotherProcess sets a setting of a session whose turn another process runs.
func TestSettingsReachAnotherProcess(t *testing.T) {
	g, _, here, there := pair(t)
	ended := runs(t, here, "first")
	<-g.asked
	_, err := there.Set(t.Context(), "fast", "true")
	require.NoError(t, err)
	require.Equal(t, "true", there.Setting("fast"))
	require.Equal(t, "true", here.Setting("fast"))
	g.answer <- "done"
	require.NoError(t, (<-ended).Err)
}
