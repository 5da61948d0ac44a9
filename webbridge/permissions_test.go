// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// A rule of an answer is listed with its origin, taken back once, and asked about again.
func TestPermissionsAreListedAndTakenBack(t *testing.T) {
	paid := make(chan string, 2)
	call := modeltest.Say(model.ToolCall("1", "pay", `{"to":"Ada"}`))
	s := serve(t, options{Options: webbridge.Options{Patience: -1},
		model: modeltest.Script(call, modeltest.SayText("first"), call, modeltest.SayText("second"), call, modeltest.SayText("third")),
		tools: []*toolset.Tool[none]{pay(paid)}})
	path := s.create()
	list := func() []any {
		t.Helper()
		all, ok := s.do("GET", path+"/permissions", nil, 200)["permissions"].([]any)
		require.True(t, ok)
		return all
	}
	require.Empty(t, list())
	f := s.follow(path, "")
	answer := func() {
		t.Helper()
		f.until(func() bool { return f.question() != nil })
		q := f.question()
		s.do("POST", path+"/questions/"+url.PathEscape(q.ID), answering(q, object{"choice": host.AllowAlways}), 204)
		require.Equal(t, "Ada", <-paid)
	}
	s.do("POST", path+"/prompts", say("pay"), 202)
	answer()
	f.until(f.has("first"))
	all := list()
	require.Len(t, all, 1)
	rule, _ := all[0].(map[string]any)
	require.Equal(t, host.OriginSession, rule["origin"])
	require.Contains(t, rule["text"], "allow pay")
	require.Equal(t, true, rule["removable"])
	next := say("pay")
	next["busy"] = "wait"                    // for the end of the turn, of which all is shown
	s.do("POST", path+"/prompts", next, 202) // unasked
	require.Equal(t, "Ada", <-paid)
	f.until(f.has("second"))

	id, _ := rule["id"].(string)
	s.do("DELETE", path+"/permissions/"+id, nil, 204)
	s.do("DELETE", path+"/permissions/"+id, nil, 404)
	require.Empty(t, list())
	s.do("POST", path+"/prompts", next, 202)
	answer()
	f.until(f.has("third"))
}
