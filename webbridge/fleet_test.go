// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"net/url"
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
	require.Equal(s.t, "a turn of the session is running in "+by+": wait for its end, or stop it", answer["message"])
}

// TestOtherServersServeARunningTurn has a run wait for an approval on one server, while requests
// come to another one.
func TestOtherServersServeARunningTurn(t *testing.T) {
	paid := make(chan string, 1)
	all := fleet(t, shared{new(session.Memory)}, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}}, "one", "two")
	one, two := all[0], all[1]
	path := one.create()
	one.do("POST", path+"/prompts", say("pay"), 202)
	f := two.follow(path, "")
	f.until(func() bool { return f.question() != nil })
	question := path + "/questions/" + url.PathEscape(f.question().ID)
	require.Equal(t, "one", two.do("GET", path, nil, 200)["holder"])

	two.held("POST", path+"/prompts", say("again"), "one")
	two.held("POST", path+"/rewind", object{"before": "prompt:x"}, "one")
	two.held("DELETE", path, nil, "one")
	two.do("PATCH", path, object{"title": "Mine"}, 200)
	waits := say("and then")
	waits["busy"] = "wait"
	two.do("POST", path+"/prompts", waits, 202)
	list := one.do("GET", path+"/waiting", nil, 200)["waiting"].([]any)
	require.Len(t, list, 1)
	first := list[0].(map[string]any)
	one.do("DELETE", path+"/waiting/"+first["id"].(string), object{"version": 7}, 409)
	one.do("PUT", path+"/waiting/"+first["id"].(string), object{"version": 1, "parts": []object{{"text": "something else"}}}, 204)
	two.do("DELETE", path+"/waiting/"+first["id"].(string), object{"version": 2}, 204)
	require.Empty(t, one.do("GET", path+"/waiting", nil, 200)["waiting"])

	stale := answering(f.question(), object{"choice": host.AllowOnce})
	stale["digest"] = "of something else"
	refused := two.do("POST", question, stale, 409)["error"].(map[string]any)
	require.Equal(t, webbridge.KindChanged, refused["kind"])
	two.do("POST", question, answering(f.question(), object{"choice": host.AllowOnce}), 204)
	require.Equal(t, "Ada", <-paid)
	two.do("POST", path+"/cancel", object{}, 204)
	require.Eventually(t, func() bool { return two.do("GET", path, nil, 200)["holder"] == nil }, time.Minute, time.Millisecond)
}

// shared is a store in memory that several servers share.
type shared struct{ *session.Memory }

// TestServerThatWasTakenForDeadGoesOn has another server take a session that somebody follows.
func TestServerThatWasTakenForDeadGoesOn(t *testing.T) {
	store := new(session.Memory)
	all := fleet(t, shared{store}, options{model: modeltest.Script(modeltest.SayText("first"), modeltest.SayText("second"), modeltest.SayText("third"))}, "one", "two")
	one, two := all[0], all[1]
	path := one.create()
	one.do("POST", path+"/prompts", say("a"), 202)
	f := one.follow(path, "")
	f.until(func() bool { return f.has("first")() && !f.running })
	two.do("POST", path+"/prompts", say("b"), 202)
	g := two.follow(path, "")
	g.until(func() bool { return g.has("second")() && !g.running })
	f.until(f.has("second"))
	one.do("POST", path+"/prompts", say("c"), 202)
	f.until(func() bool { return f.has("third")() && !f.running })
	g.until(g.has("third"))
}
