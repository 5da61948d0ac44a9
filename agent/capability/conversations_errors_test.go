// SPDX-License-Identifier: Apache-2.0

package capability_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/failing"
	"github.com/ponte-go/ponte/internal/sealtest"
)

func ended(t *testing.T, s scope, call model.Part) error {
	t.Helper()
	a := agent.Must(agent.New(agent.Config[scope, string]{
		Model:        modeltest.Script(modeltest.Say(call), modeltest.SayText("done")),
		Capabilities: []agent.Capability[scope]{capability.Conversations(func(s scope) scope { return s })},
	}))
	_, err := a.Run(t.Context(), s, "go")
	return err
}

func TestErrorsOfTheStoreEndTheRun(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "s1", Created: day}, model.UserText("port one"), model.UserText("port two"))
	add(t, s, session.New{ID: "s2", Created: day}, model.UserText("port three"))
	boom := errors.New("boom")
	for _, call := range []model.Part{search("port"), read("s1", 0)} {
		for n := range failing.Operations {
			plan := failing.At(n, boom)
			err := ended(t, scope{Store: failing.Store{Store: s, Plan: plan}}, call)
			if !plan.Failed() {
				require.NoError(t, err)
				require.Greater(t, n, 2)
				break
			}
			require.ErrorIs(t, err, boom, plan.Operation())
			require.ErrorContains(t, err, "capability: boom")
		}
		for n := range failing.Operations { // an entry, or a store, that is away is told to the model
			plan := failing.At(n, session.ErrUnavailable)
			require.NoError(t, ended(t, scope{Store: failing.Store{Store: s, Plan: plan}}, call))
			if !plan.Failed() {
				break
			}
		}
	}
}

// damaged is a store with an entry that cannot be read. seq 0 says that the whole session cannot be.
type damaged struct {
	session.Store
	id  string
	seq int64
	err error
}

func (d damaged) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for e, err := range d.Store.Load(ctx, id, after) {
			if id == d.id && (d.seq == 0 || e.Seq == d.seq) {
				e, err = session.Entry{}, &session.Error{Op: "load", Session: id, Seq: d.seq, Err: d.err}
			}
			if !yield(e, err) || err != nil && d.seq == 0 {
				return
			}
		}
	}
}

func TestDamagedEntriesAreLeftOut(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "s1", Created: day}, model.UserText("port one"), model.UserText("port two"), model.UserText("port three"))
	add(t, s, session.New{ID: "s2", Created: day}, model.UserText("port four"))
	entry := damaged{s, "s1", 2, session.ErrCorrupt}
	told := runConversations(t, scope{Store: entry}, search("port"), read("s1", 0))
	require.Equal(t, []string{"user: port one\n\nuser: port three"}, told[1:])
	require.Contains(t, told[0], "port one")
	require.Contains(t, told[0], "port three")
	require.NotContains(t, told[0], "port two")

	whole := damaged{s, "s1", 0, session.ErrCorrupt}
	told = runConversations(t, scope{Store: whole}, search("port"))
	require.Contains(t, told[0], "port four", "the others are searched")
	require.NotContains(t, told[0], "session s1")
	require.ErrorIs(t, ended(t, scope{Store: whole}, read("s1", 0)), session.ErrCorrupt)
	other := damaged{s, "s1", 2, errors.New("boom")}
	for _, call := range []model.Part{search("port"), read("s1", 0)} {
		require.ErrorContains(t, ended(t, scope{Store: other}, call), "boom")
	}
	deleted := damaged{s, "s1", 0, session.ErrNotFound}
	told = runConversations(t, scope{Store: deleted}, search("port"))
	require.Contains(t, told[0], "port four", "one that has just been deleted is no reason to end the search")
	require.NotContains(t, told[0], "session s1")
}

// A session whose description is damaged cannot be opened: for the model, it is not there.
func TestDamagedDescriptionsDoNotEndTheRun(t *testing.T) {
	inner := new(session.Memory)
	s, err := session.Encrypted(inner, sealtest.Ring())
	require.NoError(t, err)
	for _, id := range []string{"s1", "s2"} {
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
	}
	_, err = inner.Update(t.Context(), "s1", session.Change{Title: new("planted")})
	require.NoError(t, err)
	require.NoError(t, ended(t, scope{Store: s}, search("port")))
	require.NoError(t, ended(t, scope{Store: s}, read("s1", 0)))
}

// Entries of other kinds, and what cannot be read as a message, have nothing that somebody said.
func TestOnlyMessagesAreSearched(t *testing.T) {
	s := new(session.Memory)
	info, err := s.Create(t.Context(), session.New{ID: "s1", Created: day})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, info.ID, session.Claim{Holder: "test"})
	require.NoError(t, err)
	message := func(m *model.Message) json.RawMessage {
		data, err := json.Marshal(map[string]any{"message": m})
		require.NoError(t, err)
		return data
	}
	for _, e := range []session.Entry{
		{Kind: session.KindView, Key: "v", Data: message(model.UserText("needle in a view"))},
		{Kind: session.KindMessage, Data: json.RawMessage(`{"message":{"kind":"request","parts":"needle"}}`)},
		{Kind: session.KindMessage, Data: json.RawMessage(`{"other":"needle"}`)},
		{Kind: session.KindMessage, Data: message(model.UserText(" \n"))},
		{Kind: session.KindMessage, Data: message(model.Response(model.Text("the"), model.Thinking("needle"), model.Text("needle is here")))},
	} {
		_, err = w.Append(t.Context(), e)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	told := runConversations(t, scope{Store: s}, search("needle"), read("s1", 0))
	require.Equal(t, 1, strings.Count(told[0], "## "))
	require.Contains(t, told[0], "entry 5)\nagent: the needle is here")
	require.Equal(t, "agent: the\nneedle is here", told[1])
}

// padded is a store in which something long that is no message comes before each entry.
type padded struct {
	session.Store
	padding json.RawMessage
}

func (p padded) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for e, err := range p.Store.Load(ctx, id, after) {
			if !yield(session.Entry{Kind: session.KindView, Seq: e.Seq, Data: p.padding}, nil) || !yield(e, err) {
				return
			}
		}
	}
}

// A search looks at so many bytes of entries, and says that it did not look at all.
func TestSearchesLookAtSoManyBytes(t *testing.T) {
	s := padded{new(session.Memory), make(json.RawMessage, capability.MaxConversationBytes/4)}
	for i := range 5 {
		add(t, s.Store, session.New{ID: fmt.Sprint("s", i), Created: day.AddDate(0, 0, i)}, model.UserText("needle"))
	}
	told := runConversations(t, scope{Store: s}, search("needle"))
	require.Equal(t, 3, strings.Count(told[0], "## "), "the latest that fit")
	require.NotContains(t, told[0], "session s0")
	require.NotContains(t, told[0], "session s1")
	require.True(t, strings.HasSuffix(told[0], "[Not all conversations were searched.]"))

	var messages []*model.Message
	for i := range 6 {
		messages = append(messages, model.UserText(fmt.Sprint("message ", i)))
	}
	add(t, s.Store, session.New{ID: "long", Created: day}, messages...)
	told = runConversations(t, scope{Store: s}, read("long", 0))
	require.Equal(t, "user: message 0\n\nuser: message 1\n\nuser: message 2\n\n[To read on, call read_conversation with entry 4.]", told[0])
}

func TestBestHitsComeFirst(t *testing.T) {
	s := new(session.Memory)
	for i := range 30 {
		add(t, s, session.New{ID: fmt.Sprintf("s%02d", i), Created: day.AddDate(0, 0, i)}, model.UserText("one"), model.UserText("one"), model.UserText("ONE"), model.UserText("one"), model.UserText("one"), model.UserText("one"))
	}
	add(t, s, session.New{ID: "old", Created: day.AddDate(-1, 0, 0)}, model.UserText("one and two"))
	told := runConversations(t, scope{Store: s}, search("one two one"))
	require.True(t, strings.HasPrefix(told[0], "## Untitled (2025-05-01, session old, entry 1)\nuser: one and two\n\n## Untitled (2026-05-30, session s29, entry 6)"), told[0])
	require.Equal(t, 8, strings.Count(told[0], "## "))
}

// An excerpt begins a little before the first word that was found, with a whole character.
func TestExcerptsAreAroundTheFirstWord(t *testing.T) {
	for shift := range 3 {
		s := new(session.Memory)
		text := strings.Repeat("x", shift) + strings.Repeat("€", 400) + " second first " + strings.Repeat("€", 400)
		add(t, s, session.New{ID: "s1", Created: day}, model.UserText(text))
		told := runConversations(t, scope{Store: s}, search("first second"))
		_, excerpt, _ := strings.Cut(told[0], "user: ")
		excerpt, ok := strings.CutPrefix(excerpt, "…")
		require.True(t, ok)
		before, _, ok := strings.Cut(excerpt, " second first ")
		require.True(t, ok)
		require.Regexp(t, `^€+$`, before)
	}
}

// Whatever an excerpt leaves out at its beginning, be it one letter, it says so.
func TestExcerptsSayThatTheyLeaveOutTheBeginning(t *testing.T) {
	for skipped, begins := range []string{"user: a", "user: …b", "user: …c"} {
		s := new(session.Memory)
		text := "abc" + strings.Repeat("x", 200+skipped-len("abc ")) + " first"
		add(t, s, session.New{ID: "s1", Created: day}, model.UserText(text))
		require.Contains(t, runConversations(t, scope{Store: s}, search("first"))[0], begins)
	}
}
