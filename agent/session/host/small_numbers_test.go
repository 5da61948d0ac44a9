// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// Places and versions of prompts that wait are decimal numbers.
func TestPromptsThatWaitHaveDecimalNumbers(t *testing.T) {
	for _, c := range []struct {
		pos, version int64
		want         string
	}{{1, 0, "1"}, {1, 1, "1"}, {9, 2, "9.2"}, {10, 10, "10.10"}, {11, 12, "11.12"}, {123, 99, "123.99"}} {
		require.Equal(t, c.want, (&host.Waiting{Pos: c.pos, Version: c.version}).Number())
	}
	store := new(session.Memory)
	g := newGate()
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(g.model()), Store: shared{store}, Busy: host.BusyQueue}))
	var all sync.WaitGroup
	all.Go(func() { prompt(t, s, "first") })
	<-g.asked
	w := waits(t, s, &all, model.User("second"))
	for n := int64(1); n < 13; n++ {
		require.NoError(t, s.EditWaiting(t.Context(), w.ID, n, []model.Part{model.User("x")}, nil))
		eventually(t, "the change is shown", func() bool {
			snapshot, _, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			e := snapshot.Get(transcript.WaitingID(w.ID))
			return e != nil && e.Digest == strconv.FormatInt(n+1, 10)
		})
	}
	require.NoError(t, s.RemoveWaiting(t.Context(), w.ID, 13))
	g.answer <- "done"
	all.Wait()
}

// Positions of those who watch are decimal numbers, and those up to the last one are known.
func TestPositionsAreDecimalNumbers(t *testing.T) {
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo())}))
	for range 5 {
		prompt(t, s, "more")
	}
	snapshot, position, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	epoch, number, _ := strings.Cut(position, ".")
	require.Equal(t, fmt.Sprint(snapshot.Pos()), number)
	require.Greater(t, snapshot.Pos(), uint64(11))
	for n, known := range map[uint64]bool{0: true, 9: true, 10: true, 11: true, snapshot.Pos(): true, snapshot.Pos() + 1: false, 1 << 62: false, 1 << 63: false} {
		f, err := s.Follow(t.Context(), fmt.Sprint(epoch, ".", n))
		require.NoError(t, err)
		require.Equal(t, !known, f.Reset, n)
		if known {
			require.Equal(t, n, f.Pos())
			require.Equal(t, fmt.Sprint(epoch, ".", n), f.Position())
		}
		f.Close()
	}
	for _, wrong := range []string{"", ".", epoch, epoch + ".", epoch + ".x", epoch + ".-1", "x." + number} {
		f, err := s.Follow(t.Context(), wrong)
		require.NoError(t, err)
		require.Equal(t, wrong != "", f.Reset, wrong)
		f.Close()
	}
}

// A program with one setting, one command, one mode or one model has it as one with more has.
func TestOneOfAKindIsShown(t *testing.T) {
	run := func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
		return agent.CommandResult{Notice: "Done."}, nil
	}
	command := agent.Command[none]{Name: "hello", Description: "Say hello.", Run: func(context.Context, agent.CommandCall[none]) (agent.CommandResult, error) {
		return agent.CommandResult{Notice: "Hello!"}, nil
	}}
	for name, c := range map[string]struct {
		config  host.Config[none, string]
		ids     string // of settings
		slash   string
		unknown string
	}{
		"nothing": {host.Config[none, string]{}, "", "", ""},
		"setting": {host.Config[none, string]{Settings: []host.Setting{{Setting: view.Setting{ID: "fast", Value: "true", Switch: true}}}}, "fast=true", "", ""},
		"mode":    {host.Config[none, string]{Modes: []host.Mode{{ID: "ask", Title: "Ask"}}}, "mode=ask", "", ""},
		"level":   {host.Config[none, string]{Thinking: []string{"low"}}, "thinking=low", "", ""},
		"command": {host.Config[none, string]{Commands: []host.Command{{Name: "go", Run: run}}}, "", "go", "Unknown command /gp. Did you mean /go?"},
		"agent's": {host.Config[none, string]{Agent: agent.Must(agent.New(agent.Config[none, string]{Model: echo(), Commands: []agent.Command[none]{command}}))}, "", "hello", "Unknown command /gp."},
	} {
		if c.config.Agent == nil {
			c.config.Agent = newAgent(echo())
		}
		s := create(t, newHost(t, c.config))
		var ids, slash []string
		for _, one := range s.Settings() {
			ids = append(ids, one.ID+"="+one.Value)
		}
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		var shownIDs []string
		if e := snapshot.Get(transcript.OptionsID); e != nil {
			for _, one := range e.Settings {
				shownIDs = append(shownIDs, one.ID+"="+one.Value)
			}
		}
		if e := snapshot.Get(transcript.CommandsID); e != nil {
			for _, one := range e.Slash {
				slash = append(slash, one.Name)
			}
		}
		require.Equal(t, c.ids, strings.Join(ids, " "), name)
		require.Equal(t, c.ids, strings.Join(shownIDs, " "), name)
		require.Equal(t, c.slash, strings.Join(slash, " "), name)
		o := prompt(t, s, "/gp")
		require.NoError(t, o.Err, name)
		require.Equal(t, c.unknown == "", o.Turn != "", name)
		if c.unknown != "" {
			require.Contains(t, shown(t, s), c.unknown, name)
		}
	}
}

// One claim is a history, claims of the same speaker in a row are one message, and a session with an
// entry has a history.
func TestSmallHistoriesAreSeeded(t *testing.T) {
	user := func(parts ...model.Part) host.Claim { return host.Claim{Role: view.User, Parts: parts} }
	byModel := func(parts ...model.Part) host.Claim { return host.Claim{Role: view.Assistant, Parts: parts} }
	for name, c := range map[string]struct {
		claims []host.Claim
		want   string
	}{
		"nothing":          {nil, ""},
		"empty claims":     {[]host.Claim{user(), byModel()}, ""},
		"one":              {[]host.Claim{user(model.User("a"))}, "user a"},
		"a byte":           {[]host.Claim{user(model.Media("image/png", []byte("x")))}, "user [image]"},
		"two of a speaker": {[]host.Claim{user(model.User("a")), user(model.User("b"))}, "user a[text]b"},
		"by turns":         {[]host.Claim{user(model.User("a")), byModel(model.Text("b")), byModel(model.Text("c")), user(model.User("d"))}, "user a, assistant bc, user d"},
		"of the model":     {[]host.Claim{byModel(model.Text("a")), byModel(model.Text("b"))}, "assistant ab"},
	} {
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: durable{new(session.Memory)}}))
		require.NoError(t, s.Seed(t.Context(), c.claims...), name)
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		var got []string
		for e := range snapshot.Of(view.Message) {
			text := ""
			for n, one := range e.Content {
				if one.Kind != view.Text || n > 0 {
					text += "[" + string(one.Kind) + "]"
				}
				text += one.Text
			}
			require.JSONEq(t, `{"claimed":true}`, string(e.Meta), name)
			got = append(got, string(e.Role)+" "+text)
		}
		require.Equal(t, c.want, strings.Join(got, ", "), name)
		err = s.Seed(t.Context(), user(model.User("again")))
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, session.ErrInvalid, name)
		}
	}
	store := new(session.Memory)
	info, err := store.Create(t.Context(), session.New{})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, info.ID, session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindValue, Run: "t", Key: "k"})
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	s, err := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: durable{store}}).Open(t.Context(), info.ID, nil)
	require.NoError(t, err)
	require.EqualError(t, s.Seed(t.Context(), user(model.User("a"))), "host: seed session "+info.ID+": "+session.ErrInvalid.Error()+": it has a history")
}

// Rules have numbers from 1 and ids of eight bytes. One of the program is not taken back here.
func TestRulesAreTakenBackByTheirNumbers(t *testing.T) {
	const usage = "Use `/permissions`, or `/permissions remove NUMBER` with a number of the list."
	layer := approval.Layer{Name: "house", Rules: func() []approval.LayerRule {
		return []approval.LayerRule{{Text: "nothing at night"}}
	}}
	for _, layers := range [][]approval.Layer{nil, {layer}} {
		s := create(t, newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Commands: host.BuiltIns(nil), Layers: func(none) []approval.Layer { return layers },
		}))
		answers := func(args string) string {
			before := shown(t, s)
			require.NoError(t, prompt(t, s, strings.TrimSpace("/permissions "+args)).Err)
			return strings.ReplaceAll(strings.TrimPrefix(shown(t, s), before), `\n`, "\n")
		}
		for _, tool := range []string{"one", "two", "three"} {
			s.Policy().Remember(tool, "", toolset.VerdictAllow)
		}
		list := answers("")
		all, err := s.Permissions()
		require.NoError(t, err)
		require.Len(t, all, len(layers)+3)
		for n, p := range all {
			sum := sha256.Sum256([]byte(p.Origin + "\x00" + p.Text))
			require.Equal(t, hex.EncodeToString(sum[:8]), p.ID)
			require.Contains(t, list, fmt.Sprintf("%d. `` %s `` (%s)", n+1, p.Text, p.Origin))
		}
		for _, n := range []string{"0", "-1", "x", "", fmt.Sprint(len(all) + 1)} {
			require.Contains(t, answers("remove "+n), usage, n)
		}
		if layers != nil {
			require.Contains(t, answers("remove 1"), "This rule cannot be taken back here: it is from house.")
			all = all[1:]
		}
		for n, p := range all {
			require.Contains(t, answers(fmt.Sprint("remove ", len(layers)+1)), "Taken back: `` "+p.Text+" ``.")
			left, err := s.Permissions()
			require.NoError(t, err)
			require.Len(t, left, len(layers)+2-n)
		}
		if layers == nil {
			require.Contains(t, answers(""), "No rules decide about calls.")
		}
	}
}

// What a failed turn logs names its session, its turn and the run and stage that failed.
func TestFailedTurnsAreLoggedWithTheirRun(t *testing.T) {
	var b bytes.Buffer
	fails := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, errors.New("broken") })
	h := newHost(t, host.Config[none, string]{Agent: newAgent(fails), Logger: slog.New(slog.NewJSONHandler(&b, nil))})
	s := create(t, h)
	o := prompt(t, s, "go")
	require.Error(t, o.Err)
	var line map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &line))
	delete(line, "time")
	require.Equal(t, map[string]any{
		"level": "ERROR", "msg": "host: a turn has failed", "session": s.ID(), "turn": o.Turn, "run": o.Turn, "stage": "model", "tool": "", "error": "broken",
	}, line)
}

// A session is shared from the second time on that it is open.
func TestSessionsAreSharedByTwo(t *testing.T) {
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: durable{new(session.Memory)}})
	s := create(t, h)
	require.NoError(t, prompt(t, s, "one").Err)
	require.False(t, s.Shared())
	for range 2 {
		again, err := h.Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		require.Same(t, s, again)
		require.True(t, s.Shared())
	}
	for _, shared := range []bool{true, false} {
		require.NoError(t, s.Leave(t.Context(), nil))
		require.Equal(t, shared, s.Shared())
		require.NoError(t, prompt(t, s, "more").Err)
	}
	require.NoError(t, s.Leave(t.Context(), nil))
	_, err := s.Prompt(t.Context(), say("late"))
	require.ErrorIs(t, err, host.ErrClosed)
}

// A session without entries in which a prompt waits stays when it is closed.
func TestSessionsInWhichAPromptWaitsStay(t *testing.T) {
	for _, waiting := range []int{0, 1, 2} {
		store := new(session.Memory)
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: durable{store}})
		s := create(t, h)
		for range waiting {
			_, err := store.Put(t.Context(), s.ID(), session.Item{Kind: session.ItemContinue})
			require.NoError(t, err)
		}
		require.NoError(t, s.Close(t.Context()))
		_, err := store.Get(t.Context(), s.ID())
		if waiting > 0 {
			require.NoError(t, err, waiting)
		} else {
			require.ErrorIs(t, err, session.ErrNotFound)
		}
	}
}
