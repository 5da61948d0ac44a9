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
)

// The ids of calls are the provider's, and those of questions end in them. Escaped once, they are names in addresses, whatever they have.
func TestQuestionsWithOddIDsAreAnswered(t *testing.T) {
	for _, id := range []string{
		"a/b", "a//b", "/a", "a/", "//", "..", "../..", "a/../b", ".", "./a", "a/.", "%2F", "a%2Fb", "%", "%zz", "%25", "a?b", "?", "a#b", "#", "a b", " ", "a+b", "a&b=c;d",
		"ü", "日本", "\u202e", "a\\b", "a:b", "@", "{question...}", "a\nb", "\x00", "~", "answers",
	} {
		paid := make(chan string, 1)
		script := modeltest.Script(modeltest.Say(model.ToolCall(id, "pay", `{"to":"Ada"}`)), modeltest.SayText("All done."))
		s := serve(t, options{model: script, tools: []*toolset.Tool[none]{pay(paid)}})
		path := s.create()
		f := s.follow(path, "")
		s.do("POST", path+"/prompts", say("pay"), 202)
		f.until(func() bool { return f.question() != nil })
		q := f.question()
		s.do("POST", path+"/questions/"+url.PathEscape(q.ID), answering(q, object{"choice": host.AllowOnce}), 204)
		f.until(f.has("All done."))
		require.Equal(t, "Ada", <-paid, "%q", id)
	}
}
