// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// everywhere answers a question that was open once with its own id and digest, over every protocol.
func (w *site) everywhere(what, user, chat string, a asked, question string) {
	for _, yes := range []any{args{"digest": a.digest, "choice": "allow_once"}, args{"digest": a.digest, "choice": "allow_always"}, args{"digest": a.digest, "decision": args{"allow": true}}} {
		w.quiet(what+", over the API", func() (int, string) { return w.send(user, "POST", at(a.session, question), yes) })
	}
	w.quiet(what+", over useChat", func() (int, string) { return w.decide(user, chat, a.message, a.part(a.digest, true)) })
	w.quiet(what+", over AG-UI", func() (int, string) {
		_, text := w.interrupt(user, a.session, args{"resume": []args{resumed(a.digest, args{"approved": true})}})
		return 0, text
	})
}

// staleAnswers come when their question is over: its turn was stopped, its process has ended, what it is about has changed, or its session has.
func staleAnswers(s *suite) {
	store := lasting{new(session.Memory)}
	b := new(bank)
	w := newSite(s, store, b)
	id := func(a asked) string {
		q := w.questions("ada", a.session)
		require.NotEmpty(s, q)
		return q[0].ID
	}
	// A turn that waits is stopped.
	_, text := w.send("ada", "POST", "/api/chat", args{"id": "stopped", "messages": []args{said("hello Ada")}})
	stopped := asked{chat: "stopped", session: sessionIn(text)}
	pending := w.open("ada", "stopped")
	require.Len(s, pending, 1)
	w.decide("ada", "stopped", pending[0].message, pending[0].part(pending[0].digest, false))
	status, text := w.send("ada", "POST", "/api/sessions/"+url.PathEscape(stopped.session)+"/prompts", args{"parts": []args{{"text": "pay Ada"}}})
	require.Equal(s, 202, status, text)
	q := w.questions("ada", stopped.session)[0]
	stopped.digest, stopped.call, stopped.message = q.Digest, q.Parent, pending[0].message
	before := b.paid()
	status, text = w.send("ada", "POST", "/api/sessions/"+url.PathEscape(stopped.session)+"/cancel", args{})
	require.Equal(s, 204, status, text)
	w.everywhere("after Stop", "ada", "stopped", stopped, q.ID)
	s.attack(b.paid() == before, "paid %d times after Stop", b.paid()-before)

	// A session is forked, taken back, and deleted.
	one := w.chat("ada", "forked", "pay Ada")[0]
	question := id(one)
	status, text = w.send("ada", "POST", "/api/sessions/"+url.PathEscape(one.session)+"/fork", args{})
	require.Equal(s, 201, status, text)
	fork := asked{session: strings.Split(strings.SplitN(text, `"id":"`, 2)[1], `"`)[0], digest: one.digest, call: one.call, message: one.message}
	before = b.paid()
	w.send("ada", "POST", at(fork.session, question), args{"digest": one.digest, "choice": "allow_once"})
	w.interrupt("ada", fork.session, nil) // which follows the turn to its end
	s.attack(len(w.open("ada", "forked")) == 1 && b.paid() <= before+1, "an answer in a fork answers the session, paid %d times", b.paid()-before)
	w.everywhere("in the fork again", "ada", fork.session, fork, question)
	status, text = w.send("ada", "POST", "/api/sessions/"+url.PathEscape(one.session)+"/rewind", args{"before": strings.Replace(one.message, "answer:", "prompt:", 1)})
	require.Less(s, status, 300, text)
	w.everywhere("after it was taken back", "ada", "forked", one, question)
	again := w.chat("ada", "forked", "pay Ada")[0]
	w.everywhere("after it was taken back and asked again", "ada", "forked", one, question)
	w.quiet("the digest before it was taken back", func() (int, string) { return w.decide("ada", "forked", again.message, again.part(one.digest, true)) })
	question = id(again)
	status, text = w.send("ada", "DELETE", "/api/sessions/"+url.PathEscape(one.session), args{})
	require.Equal(s, 204, status, text)
	w.everywhere("after it was deleted", "ada", "forked", again, question)

	// The process ends while a run waits, and another one goes on.
	moved := w.chat("ada", "moved", "pay Ada")[0]
	w.decide("ada", "moved", moved.message, moved.part(moved.digest, false))
	status, text = w.send("ada", "POST", "/api/sessions/"+url.PathEscape(moved.session)+"/prompts", args{"parts": []args{{"text": "pay Ada"}}})
	require.Equal(s, 202, status, text)
	q = w.questions("ada", moved.session)[0]
	old := asked{"moved", moved.session, moved.message, q.Parent, q.Digest}
	w.close()
	second := newSite(s, store, b)
	before = b.paid()
	second.everywhere("the question of the process that has ended", "ada", "moved", old, q.ID)
	second.everywhere("by another user", "eve", "moved", old, q.ID)
	now := second.open("ada", "moved")
	require.Len(s, now, 1)
	question = second.questions("ada", moved.session)[0].ID
	second.quiet("its digest for the question of the new process", func() (int, string) {
		return second.send("ada", "POST", at(moved.session, question), args{"digest": old.digest, "choice": "allow_once"})
	})
	status, text = second.send("ada", "POST", at(moved.session, question), args{"digest": now[0].digest, "choice": "allow_once"})
	require.Equal(s, 204, status, text)
	until := second.open("ada", "moved")
	require.Empty(s, until)
	second.interrupt("ada", moved.session, nil) // which follows the turn to its end
	s.attack(b.paid() == before+1, "paid %d times", b.paid()-before)
	second.close()
	third := newSite(s, store, b)
	third.everywhere("once more, in a third process", "ada", "moved", now[0], question)
	third.everywhere("the first, in a third process", "ada", "moved", old, q.ID)

	changedMeanwhile(s)
}

// sessionIn returns the session that an answer names.
func sessionIn(text string) string {
	_, rest, _ := strings.Cut(text, `"session":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// changedMeanwhile changes what a question shows while it is open: the person is asked again, and no answer to the first question counts.
func changedMeanwhile(s *suite) {
	for _, wait := range []bool{false, true} {
		b := &bank{price: "5"}
		_, one := hosted(s, lasting{new(session.Memory)}, "", b.agent())
		ended := make(chan error, 1)
		go func() {
			_, err := one.Prompt(s.Context(), host.Prompt{Parts: []model.Part{model.User("pay Ada")}, Wait: wait})
			ended <- err
		}()
		asking := func(known string) (q *view.Entity) {
			until(s, one, func(snapshot *view.Snapshot) bool {
				q = snapshot.Last(view.Question)
				return q != nil && q.Status == view.Pending && q.Digest != known
			})
			return q
		}
		q := asking("")
		if !wait {
			require.NoError(s, <-ended)
		}
		for _, price := range []string{"500", "5000"} {
			b.set(price)
			require.NoError(s, one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce}))
			next := asking(q.Digest)
			s.attack(b.paid() == 0, "paid %v when it was %s", b.names(), price)
			for _, id := range []string{q.ID, next.ID} {
				s.attack(one.Decide(s.Context(), id, "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce}) != nil && b.paid() == 0, "the first answer counts when it is %s", price)
			}
			q = next
		}
		require.NoError(s, one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.RejectOnce}))
		until(s, one, func(snapshot *view.Snapshot) bool { return strings.Contains(texts(snapshot), "All done.") })
		s.attack(b.paid() == 0, "paid %v", b.names())
	}
	// Over the protocols of pages.
	b := &bank{price: "5"}
	w := newSite(s, lasting{new(session.Memory)}, b)
	one := w.chat("ada", "one", "pay Ada")[0]
	for _, price := range []string{"500", "5000"} {
		b.set(price)
		w.quiet("over useChat, it is "+price, func() (int, string) { return w.decide("ada", "one", one.message, one.part(one.digest, true)) })
		next := w.open("ada", "one")
		require.Len(s, next, 1)
		w.everywhere("the first answer", "ada", "one", one, w.questions("ada", one.session)[0].ID)
		one = next[0]
	}
	b.set("6")
	w.quiet("over AG-UI", func() (int, string) {
		_, text := w.interrupt("ada", one.session, args{"resume": []args{resumed(one.digest, args{"approved": true})}})
		return 0, text
	})
	last := w.open("ada", "one")
	require.Len(s, last, 1)
	w.decide("ada", "one", last[0].message, last[0].part(last[0].digest, true))
	require.Equal(s, 1, b.paid(), "what was shown is paid")
}
