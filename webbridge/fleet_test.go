// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// fleet returns servers that share a store.
func fleet(t *testing.T, store session.Store, o options, names ...string) (all []*server) {
	t.Helper()
	for _, name := range names {
		one := o
		one.host.Store, one.host.Holder = store, name
		all = append(all, serve(t, one))
	}
	return all
}

// held sends a request that is refused because another server has the session.
func (s *server) held(method, path string, body any, by string) {
	s.t.Helper()
	answer := s.do(method, path, body, 409)["error"].(map[string]any)
	require.Equal(s.t, webbridge.KindHeld, answer["kind"])
	require.Equal(s.t, "the session is open in "+by+": close it there, and try again", answer["message"])
}

// TestOtherServersSayWhoHasTheSession has a run wait for an approval on one server, while requests come to another one.
func TestOtherServersSayWhoHasTheSession(t *testing.T) {
	paid := make(chan string, 1)
	all := fleet(t, durable{new(session.Memory)}, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}, Options: webbridge.Options{Linger: time.Nanosecond}}, "one", "two")
	one, two := all[0], all[1]
	path := one.create()
	two.do("GET", path, nil, 200)
	one.do("POST", path+"/prompts", say("pay"), 202)
	f := one.follow(path, "")
	f.until(func() bool { return f.question() != nil })
	question := path + "/questions/" + url.PathEscape(f.question().ID)

	require.Equal(t, "one", two.do("GET", path, nil, 200)["holder"])
	require.Len(t, two.do("GET", "/api/sessions", nil, 200)["sessions"], 1)
	two.held("GET", path+"/events", nil, "one")
	two.held("POST", path+"/prompts", say("again"), "one")
	two.held("POST", question, answering(f.question(), object{"choice": host.AllowOnce}), "one")
	two.held("POST", path+"/cancel", object{}, "one")
	two.held("POST", path+"/rewind", object{"before": "prompt:x"}, "one")
	two.held("PATCH", path, object{"title": "Mine"}, "one")
	two.held("DELETE", path, nil, "one")

	one.do("POST", question, answering(f.question(), object{"choice": host.AllowOnce}), 204)
	require.Equal(t, "Ada", <-paid)
	one.do("POST", path+"/cancel", object{}, 204)
	f.until(func() bool { return !f.running })
	require.NoError(t, f.res.Body.Close())
	require.Eventually(t, func() bool { // the server notices that nobody follows
		status, _ := two.send(two.request("PATCH", path, object{"title": "Mine"}))
		return status == 200
	}, time.Minute, time.Millisecond)
}

// TestServerThatWasTakenForDeadSaysWhoHasTheSession has another server take a session that somebody follows.
func TestServerThatWasTakenForDeadSaysWhoHasTheSession(t *testing.T) {
	store := new(session.Memory)
	all := fleet(t, durable{store}, options{model: modeltest.Script(modeltest.SayText("first"), modeltest.SayText("second"), modeltest.SayText("third"))}, "one", "two")
	one, two := all[0], all[1]
	path := one.create()
	id, err := url.PathUnescape(strings.TrimPrefix(path, "/api/sessions/"))
	require.NoError(t, err)
	one.do("POST", path+"/prompts", say("a"), 202)
	f := one.follow(path, "")
	f.until(func() bool { return f.has("first")() && !f.running })

	lease, err := store.Acquire(t.Context(), id, session.Claim{Force: true})
	require.NoError(t, err)
	require.NoError(t, store.Release(t.Context(), lease))
	two.do("POST", path+"/prompts", say("b"), 202)
	g := two.follow(path, "")
	g.until(func() bool { return g.has("second")() && !g.running })

	one.held("POST", path+"/prompts", say("c"), "two")
	for f.next() {
	}
	require.Contains(t, f.ended, `"kind":"held"`)
	one.held("POST", path+"/prompts", say("c"), "two")
	require.NoError(t, two.handler.Host().Session(id).Close(t.Context()))
	one.do("POST", path+"/prompts", say("c"), 202)
	f = one.follow(path, f.position)
	f.until(func() bool { return f.has("third")() && !f.running })
	require.True(t, f.has("second")(), "what happened on the other server is there")
}
