// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// hosted is a session of a host of its own, which is closed with the suite.
func hosted(s *suite, store session.Store, id string, a *agent.Agent[deps, string]) (*host.Host, *host.Session) {
	h, err := host.New(host.Config[deps, string]{Agent: a, Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(s, err)
	s.Cleanup(func() { _ = h.Close(context.Background()) })
	if id == "" {
		opened, err := h.Create(s.Context(), session.New{Dir: "/project"}, nil)
		require.NoError(s, err)
		return h, opened
	}
	opened, err := h.Open(s.Context(), id, nil)
	require.NoError(s, err)
	return h, opened
}

// waiting returns the questions of a session that wait for an answer.
func waiting(s *suite, of *host.Session) (all []*view.Entity) {
	snapshot, _, err := of.Snapshot(s.Context())
	require.NoError(s, err)
	for q := range snapshot.Of(view.Question) {
		if q.Status == view.Pending {
			all = append(all, q)
		}
	}
	return all
}

// until follows a session until it shows what is looked for.
func until(s *suite, of *host.Session, ok func(*view.Snapshot) bool) {
	for u, err := range of.Watch(s.Context(), "") {
		require.NoError(s, err)
		if ok(u.Snapshot) {
			return
		}
	}
	require.Fail(s, "the session has ended")
}

// twins are two calls that look the same and wait at the same time: an answer to one is none to the other, and counts once.
func twins(s *suite) {
	pendingTwins(s, "twins Ada")
	pendingTwins(s, "same Ada") // the model gives them one id
	waitingTwins(s)
	insideTwins(s)
	twinsOfPages(s)
}

func allow(q *view.Entity) host.Answer {
	return host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
}

// pendingTwins wait in a run that is pending.
func pendingTwins(s *suite, prompt string) {
	b := new(bank)
	_, one := hosted(s, lasting{new(session.Memory)}, "", b.agent())
	o, err := one.Prompt(s.Context(), host.Prompt{Parts: []model.Part{model.User(prompt)}})
	require.NoError(s, err)
	require.Error(s, o.Err)
	both := waiting(s, one)
	require.Len(s, both, 2)
	x, y := both[0], both[1]
	s.attack(x.Digest != y.Digest && x.ID != y.ID, "the digests are %s and %s", x.Digest, y.Digest)
	decide := func(what string, id string, a host.Answer) {
		err := one.Decide(s.Context(), id, "", a)
		s.attack(err != nil && b.paid() == 0, "%s: %v, paid %d", what, err, b.paid())
	}
	decide("one's digest for the other", y.ID, allow(x))
	decide("the other's digest for one", x.ID, allow(y))
	require.NoError(s, one.Decide(s.Context(), x.ID, "", allow(x)))
	s.attack(len(waiting(s, one)) == 1, "an answer to one answers both")
	for _, choice := range []string{host.AllowOnce, host.AllowAlways, host.RejectOnce} {
		decide("one is answered twice", x.ID, host.Answer{Digest: x.Digest, Choice: choice})
		decide("one's digest for the other, after its answer", y.ID, host.Answer{Digest: x.Digest, Choice: choice})
		decide("the other's digest for one, after its answer", x.ID, host.Answer{Digest: y.Digest, Choice: choice})
	}
	require.NoError(s, one.Decide(s.Context(), y.ID, "", host.Answer{Digest: y.Digest, Choice: host.RejectOnce}))
	until(s, one, func(snapshot *view.Snapshot) bool { return strings.Contains(texts(snapshot), "All done.") })
	s.attack(b.paid() == 1, "one is allowed and the other rejected: paid %d times", b.paid())

	// Eight answers to one of them at once.
	for range 5 {
		b := new(bank)
		_, one := hosted(s, nil, "", b.agent())
		_, err := one.Prompt(s.Context(), host.Prompt{Parts: []model.Part{model.User(prompt)}})
		require.NoError(s, err)
		both := waiting(s, one)
		accepted, all := make(chan bool, 16), sync.WaitGroup{}
		for i := range 16 {
			all.Go(func() {
				q := both[0]
				id := []string{q.ID, both[1].ID}[i%2] // half of them name the other
				if one.Decide(s.Context(), id, "", allow(q)) == nil {
					accepted <- true
				}
			})
		}
		all.Wait()
		s.attack(len(accepted) == 1 && b.paid() == 0 && len(waiting(s, one)) == 1, "%d answers were accepted", len(accepted))
	}

}

// waitingTwins are calls of a run that waits: the second is asked about when the first has ended.
func waitingTwins(s *suite) {
	b := new(bank)
	_, one := hosted(s, lasting{new(session.Memory)}, "", b.agent())
	ended := make(chan error, 1)
	go func() {
		_, err := one.Prompt(s.Context(), host.Prompt{Parts: []model.Part{model.User("twins Ada")}, Wait: true})
		ended <- err
	}()
	asking := func(known string) (q *view.Entity) {
		until(s, one, func(snapshot *view.Snapshot) bool {
			q = snapshot.Last(view.Question)
			return q != nil && q.Status == view.Pending && q.ID != known
		})
		return q
	}
	first := asking("")
	second := strings.TrimSuffix(first.ID, "a") + "b"
	decide := func(what string, id string, a host.Answer) {
		before := b.paid()
		err := one.Decide(s.Context(), id, "", a)
		s.attack(err != nil && b.paid() == before, "%s: %v, paid %d", what, err, b.paid())
	}
	decide("the second before it is asked about", second, allow(first))
	require.NoError(s, one.Decide(s.Context(), first.ID, "", allow(first)))
	next := asking(first.ID)
	require.Equal(s, second, next.ID)
	s.attack(b.paid() == 1 && next.Digest != first.Digest, "paid %d times", b.paid())
	decide("the first answer for the second", next.ID, allow(first))
	decide("the first once more", first.ID, allow(first))
	decide("the second's digest for the first", first.ID, allow(next))
	require.NoError(s, one.Decide(s.Context(), next.ID, "", host.Answer{Digest: next.Digest, Choice: host.RejectOnce}))
	require.NoError(s, <-ended)
	s.attack(b.paid() == 1, "paid %d times", b.paid())
}

func texts(s *view.Snapshot) string {
	var b strings.Builder
	for e := range s.All() {
		b.WriteString(e.Text() + "\n")
	}
	return b.String()
}

// insideTwins are the same call, with the same id, of the same agent inside two calls.
func insideTwins(s *suite) {
	b := new(bank)
	clerk := func() *agent.Agent[deps, string] {
		return agent.Must(agent.New(agent.Config[deps, string]{Name: "clerk", Model: paying(), Tools: []*toolset.Tool[deps]{payTool[deps](b)}}))
	}
	team := agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"pay Ada"}`), model.ToolCall("2", "ask", `{"prompt":"pay Ada"}`)), modeltest.SayText("Both have answered.")),
		Tools: []*toolset.Tool[deps]{agent.AsTool("ask", "Ask.", clerk(), func(d deps) deps { return d })},
	}))
	_, one := hosted(s, nil, "", team)
	_, err := one.Prompt(s.Context(), host.Prompt{Parts: []model.Part{model.User("go")}})
	require.NoError(s, err)
	known := map[string]host.Answer{}
	for n := range 2 {
		until(s, one, func(snapshot *view.Snapshot) bool {
			q := snapshot.Last(view.Question)
			return q != nil && q.Status == view.Pending && known[q.ID].Digest == ""
		})
		all := waiting(s, one)
		for _, q := range all {
			for id, a := range known {
				s.attack(one.Decide(s.Context(), q.ID, "", a) != nil && b.paid() == n, "the answer to %s answers %s", id, q.ID)
				s.attack(one.Decide(s.Context(), id, "", a) != nil && b.paid() == n, "%s is answered twice", id)
			}
		}
		q := all[0]
		known[q.ID] = host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
		require.NoError(s, one.Decide(s.Context(), q.ID, "", known[q.ID]))
		if len(all) == 1 && n == 1 {
			break
		}
		if len(all) == 2 { // both wait at once
			s.attack(all[0].Digest != all[1].Digest && len(waiting(s, one)) == 1, "an answer to one answers both")
			s.attack(one.Decide(s.Context(), all[1].ID, "", known[q.ID]) != nil, "the answer to one answers the other")
			require.NoError(s, one.Decide(s.Context(), all[1].ID, "", host.Answer{Digest: all[1].Digest, Choice: host.AllowOnce}))
			break
		}
	}
	until(s, one, func(snapshot *view.Snapshot) bool { return strings.Contains(texts(snapshot), "Both have answered.") })
	s.attack(b.paid() == 2, "paid %d times", b.paid())
}

// twinsOfPages are two calls that look the same, over useChat, AG-UI and the JSON API.
func twinsOfPages(s *suite) {
	w := newSite(s, lasting{new(session.Memory)}, new(bank))
	both := w.chat("ada", "one", "twins Ada")
	require.Len(s, both, 2)
	x, y := both[0], both[1]
	s.attack(x.digest != y.digest && x.call != y.call, "the digests are %s and %s", x.digest, y.digest)
	id := func(a asked) string { // of the question: that of a run that is pending
		for _, q := range w.questions("ada", a.session) {
			if q.Digest == a.digest {
				return q.ID
			}
		}
		return "question:" + a.digest
	}
	idX, idY := id(x), id(y)
	w.quiet("the digest of one with the call of the other", func() (int, string) {
		p := y.part(x.digest, "true")
		return w.decide("ada", "one", x.message, p)
	})
	w.quiet("over the API, one's digest for the other", func() (int, string) {
		return w.send("ada", "POST", at(y.session, idY), args{"digest": x.digest, "choice": "allow_once"})
	})
	w.quiet("over AG-UI, one's digest for both", func() (int, string) {
		_, text := w.interrupt("ada", x.session, args{"resume": []args{resumed(x.digest, args{"approved": true}), resumed(x.digest, args{"approved": true})}})
		return 0, text
	})
	status, text := w.decide("ada", "one", x.message, x.part(x.digest, true), x.part(x.digest, true))
	require.Equal(s, 200, status, text)
	open := w.open("ada", "one")
	s.attack(w.paid() == 0 && len(open) == 1 && open[0].digest == y.digest, "%v are open after an answer to one, paid %d", open, w.paid())
	for range 3 {
		w.quiet("one is answered twice", func() (int, string) { return w.decide("ada", "one", x.message, x.part(x.digest, true)) })
		w.quiet("over the API, twice", func() (int, string) {
			return w.send("ada", "POST", at(x.session, idX), args{"digest": x.digest, "choice": "allow_once"})
		})
		w.quiet("over the API, for the other", func() (int, string) {
			return w.send("ada", "POST", at(x.session, idY), args{"digest": x.digest, "choice": "allow_once"})
		})
		w.quiet("over AG-UI, twice", func() (int, string) {
			_, text := w.interrupt("ada", x.session, args{"resume": []args{resumed(x.digest, args{"approved": true})}})
			return 0, text
		})
	}
	open = w.open("ada", "one")
	s.attack(len(open) == 1 && open[0].digest == y.digest, "%v are open", open)
	status, text = w.decide("ada", "one", y.message, y.part(y.digest, false))
	require.Equal(s, 200, status, text)
	s.attack(w.paid() == 1, "one is allowed and the other rejected: paid %d times", w.paid())
}

// questions returns the questions that wait in a session, as its stream shows them: at least one.
func (w *site) questions(user, id string) (all []*view.Entity) {
	ctx, leave := context.WithCancel(w.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/api/sessions/"+url.PathEscape(id)+"/events", nil)
	require.NoError(w, err)
	r.Header.Set("X-User", user)
	res, err := http.DefaultClient.Do(r)
	require.NoError(w, err)
	defer func() { _ = res.Body.Close() }()
	var fold view.Fold
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<24)
	for len(all) == 0 && lines.Scan() {
		var u struct{ Changes []view.Change }
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			require.NoError(w, json.Unmarshal([]byte(data), &u))
		}
		for _, c := range u.Changes {
			require.NoError(w, fold.Apply(c))
		}
		for q := range fold.Snapshot().Of(view.Question) {
			if q.Status == view.Pending {
				all = append(all, q)
			}
		}
	}
	return all
}
