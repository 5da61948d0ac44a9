// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// editing has a tool whose call is asked about again because the file has changed since it was shown: version counts.
func editing[D any](version *atomic.Int64, edited chan<- int64) *toolset.Tool[D] {
	return toolset.Func("edit", "Edit.", func(context.Context, *toolset.RunContext[D], none) (string, error) {
		edited <- version.Load()
		return "edited", nil
	}, toolset.Approve(func(context.Context, *toolset.RunContext[D], none) (*toolset.Approval, error) {
		v, _ := json.Marshal(version.Load())
		return &toolset.Approval{Title: "Edit", Basis: string(v), Preview: []model.Preview{{Text: "version " + string(v)}}}, nil
	}))
}

// One tab, or a request that is sent again, answers what another tab has answered already, while the question shows something else.
func TestAnswerIsAboutWhatWasShown(t *testing.T) {
	for name, patience := range map[string]time.Duration{"a run waits": 0, "a run is pending": -1} {
		t.Run(name, func(t *testing.T) {
			var version atomic.Int64
			edited := make(chan int64, 9)
			m := modeltest.Script(modeltest.Say(model.ToolCall("c", "edit", `{}`)), modeltest.SayText("All done."))
			s := serve(t, options{model: m, tools: []*toolset.Tool[none]{editing[none](&version, edited)}, Options: webbridge.Options{Patience: patience}})
			path := s.create()
			f := s.follow(path, "")
			s.do("POST", path+"/prompts", say("edit"), 202)
			f.until(func() bool { return f.question() != nil })
			before := f.question()
			at := path + "/questions/" + url.PathEscape(before.ID)
			require.Equal(t, "invalid", s.refused("POST", at, object{"choice": host.AllowOnce}, 400), "it does not say what it is about")
			version.Store(2)
			s.do("POST", at, answering(before, object{"choice": host.AllowOnce}), 204)
			f.until(func() bool { return f.question() != nil && f.question().Digest != before.Digest })
			now := f.question()
			require.Equal(t, "version 2", now.Content[0].Text)
			at = path + "/questions/" + url.PathEscape(now.ID)
			for _, late := range []object{{"choice": host.AllowOnce}, {"choice": host.RejectOnce}, {"decision": object{"allow": true}}, {"decision": object{"allow": true, "args": object{}}}} {
				refused := s.do("POST", at, answering(before, late), 409)["error"].(object)
				require.Equal(t, "changed", refused["kind"])
				require.Equal(t, now.Digest, refused["question"].(object)["digest"], "the question as it is now")
				require.Equal(t, "version 2", refused["question"].(object)["content"].([]any)[0].(object)["text"])
			}
			require.Empty(t, edited)
			s.do("POST", at, answering(now, object{"choice": host.AllowOnce}), 204)
			f.until(f.has("All done."))
			require.EqualValues(t, 2, <-edited)
			answered := s.do("POST", at, answering(now, object{"choice": host.AllowOnce}), 409)["error"].(object)
			require.Equal(t, "answered", answered["kind"])
			require.Equal(t, "completed", answered["question"].(object)["status"])
		})
	}
}

func TestFormIsCheckedBeforeTheAnswerCounts(t *testing.T) {
	told := make(chan string, 1)
	ask := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		r, err := run.Ask(ctx, toolset.Question{Message: "Where?", Schema: json.RawMessage(
			`{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"days":{"type":"integer"},"size":{"type":"string","enum":["s","m"]}}}`)})
		told <- string(r.Action) + " " + string(r.Content)
		return "asked", err
	})
	s := serve(t, options{tools: []*toolset.Tool[none]{ask}, model: modeltest.Script(modeltest.Say(model.ToolCall("c", "ask", `{}`)), modeltest.SayText("All done."))})
	path := s.create()
	f := s.follow(path, "")
	s.do("POST", path+"/prompts", say("ask"), 202)
	f.until(func() bool { return f.question() != nil })
	q := f.question()
	at := path + "/questions/" + url.PathEscape(q.ID)
	require.Equal(t, "invalid", s.refused("POST", at, object{"reply": object{"action": "accept", "content": object{"city": "Oslo"}}}, 400), "it does not say what it is about")
	for content, field := range map[string]string{
		`{}`: `"city"`, `null`: "object", `[]`: "object", `"Oslo"`: "object", `{"city":null}`: `"city"`, `{"city":1}`: `"city"`, `{"city":["Oslo"]}`: `"city"`,
		`{"city":"Oslo","days":"2"}`: `"days"`, `{"city":"Oslo","days":1.5}`: `"days"`, `{"city":"Oslo","size":"l"}`: `"size"`, `{"city":"Oslo","other":1}`: `"other"`,
	} {
		refused := s.do("POST", at, answering(q, object{"reply": object{"action": "accept", "content": json.RawMessage(content)}}), 400)["error"].(object)
		require.Equal(t, "invalid", refused["kind"], content)
		require.Contains(t, refused["message"], field, content)
	}
	for _, other := range []object{{"choice": host.AllowOnce}, {"decision": object{"allow": true}}, {"reply": object{"action": "allow"}}, {"reply": object{"action": "accept"}}} {
		require.Equal(t, "invalid", s.refused("POST", at, answering(q, other), 400))
	}
	require.Empty(t, told)
	require.Equal(t, q.Digest, f.question().Digest, "the question is open")
	s.do("POST", at, answering(q, object{"reply": object{"action": "accept", "content": object{"city": "Oslo", "days": 2}}}), 204)
	require.JSONEq(t, `{"city":"Oslo","days":2}`, (<-told)[len("accept "):])
	f.until(f.has("All done."))
}

// rewinding is what takes files back.
type rewinding struct{}

func (rewinding) Mark(string, string)                          {}
func (rewinding) Undo(context.Context, string) (string, error) { return "", nil }

// staying is what takes some files back.
type staying struct{ rewinding }

func (staying) Undo(context.Context, string) (string, error) {
	return "Files taken back: b.txt", errors.New("Not taken back: a.txt (someone else has changed it)")
}

// The page is told why a conversation was not rewound, and shows it to whoever opens the session later.
func TestRewindStopsAtFilesThatStay(t *testing.T) {
	look := toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "seen", nil })
	s := serve(t, options{
		host: host.Config[none, string]{Files: func(none) host.Files { return staying{} }}, tools: []*toolset.Tool[none]{look},
		model: modeltest.Script(modeltest.Say(model.ToolCall("c", "look", `{}`)), modeltest.SayText("All done.")),
	})
	path := s.create()
	f := s.follow(path, "")
	s.do("POST", path+"/prompts", say("look"), 202)
	f.until(f.has("All done."))
	f.until(func() bool { return !f.running })
	var prompt string
	for e := range f.fold.Snapshot().Of(view.Message) {
		if e.Role == view.User {
			prompt = e.ID
		}
	}
	refused := s.do("POST", path+"/rewind", object{"before": prompt}, 409)["error"].(object)
	require.Equal(t, webbridge.KindFilesStay, refused["kind"])
	for _, want := range []string{"The conversation was not taken back", "Files taken back: b.txt", "Not taken back: a.txt (someone else has changed it)"} {
		require.Contains(t, refused["message"], want)
		f.until(f.has(want))
	}
	require.True(t, f.has("All done.")())
}

func TestConfigSaysWhetherFilesGoBack(t *testing.T) {
	require.Equal(t, false, serve(t, options{}).do("GET", "/api/config", nil, 200)["files"])
	s := serve(t, options{host: host.Config[none, string]{Files: func(none) host.Files { return rewinding{} }}})
	require.Equal(t, true, s.do("GET", "/api/config", nil, 200)["files"])
}
