// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
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

// permitting is a server with users, whose agent pays the one that the prompt names.
func permitting(t *testing.T, paid chan string, patience time.Duration) *server {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		if p := last[len(last)-1]; p.Kind == model.PartUser {
			return model.Response(model.ToolCall("same", "pay", `{"to":"`+p.Text+`"}`)), nil
		}
		return model.Response(model.Text("All done.")), nil
	})
	tool := toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
		paid <- in.To
		return "paid", nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		return &toolset.Approval{
			Title: "Pay " + in.To, Scope: in.To, Once: in.To == "once",
			Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: "pay sesame", Env: []string{"KEY=sesame"}}}},
		}, nil
	}))
	s := serve(t, options{model: m, tools: []*toolset.Tool[none]{tool}, Options: webbridge.Options{User: byHeader, Patience: patience}})
	s.token = ""
	return s
}

// asked makes a session of a user with an open question.
func (s *server) asked(to string) (path, at string, q *view.Entity) {
	path = s.create()
	f := s.follow(path, "")
	s.do("POST", path+"/prompts", say(to), 202)
	f.until(func() bool { return f.question() != nil })
	return path, path + "/questions/" + url.PathEscape(f.question().ID), f.question()
}

// TestForgedAnswersAreRefused makes answers to a question that is open: of other questions, sessions
// and users, twice, after the end, with more than what is offered, and malformed.
func TestForgedAnswersAreRefused(t *testing.T) {
	t.Run("a run waits", func(t *testing.T) { t.Parallel(); forge(t, time.Hour) })
	t.Run("a run is pending", func(t *testing.T) { t.Parallel(); forge(t, -1) })
}

func forge(t *testing.T, patience time.Duration) {
	paid := make(chan string, 1000)
	s := permitting(t, paid, patience)
	ada, eve := s.as("ada"), s.as("eve")
	path, at, q := ada.asked("Ada")
	_, otherAt, other := ada.asked("Bob")
	_, evesAt, eves := eve.asked("Eve")
	_, onceAt, once := ada.asked("once")
	tried, failed := 0, 0
	attack := func(by *server, at, body, what string) {
		tried++
		r := by.request("POST", at, nil)
		r.Body = io.NopCloser(strings.NewReader(body))
		status, text := by.send(r)
		if len(paid) > 0 || status < 400 {
			failed++
			t.Errorf("%s: %d %s, paid %d", what, status, text, len(paid))
			for len(paid) > 0 {
				<-paid
			}
		}
		if strings.Contains(text, "sesame") && by == eve {
			failed++
			t.Errorf("%s: it is told what was asked: %s", what, text)
		}
	}
	yes := func(digest, more string) string {
		return fmt.Sprintf(`{"digest":%q%s}`, digest, more)
	}
	ways := []string{`,"choice":"allow_once"`, `,"choice":"allow_always"`, `,"decision":{"allow":true}`, `,"decision":{"allow":true,"args":{"to":"Eve"}}`}
	for _, way := range ways {
		for what, digest := range map[string]string{
			"another question": other.Digest, "another user's": eves.Digest, "none": "", "zeros": strings.Repeat("0", 64), "a part": q.Digest[:63], "more": q.Digest + "0", "upper case": strings.ToUpper(q.Digest), "spaces": " " + q.Digest, "the id": q.ID, "a pattern": "*", "once": once.Digest,
		} {
			attack(ada, at, yes(digest, way), "the digest is "+what+way)
			attack(eve, at, yes(digest, way), "another user, the digest is "+what+way)
		}
		attack(eve, at, yes(q.Digest, way), "another user"+way)
		attack(ada, evesAt, yes(eves.Digest, way), "the question of another user"+way)
		attack(eve, path+"/questions/"+url.PathEscape(eves.ID), yes(eves.Digest, way), "the session of another user"+way)
		attack(ada, strings.Replace(at, path, strings.TrimSuffix(otherAt, "/questions/"+url.PathEscape(other.ID)), 1), yes(q.Digest, way), "the session of another question"+way)
		for what, id := range map[string]string{"the call": q.Parent, "nothing": "x", "a pattern": "*", "encoded": url.PathEscape(url.PathEscape(q.ID)), "with a space": q.ID + "%20", "with a nul": q.ID + "%00", "with a slash": url.PathEscape(q.ID) + "/"} {
			attack(ada, path+"/questions/"+id, yes(q.Digest, way), "the question is "+what+way)
		}
	}
	for _, choice := range []string{"allow_always_project", "allow_always_wider_1", "allow_always_wider_0", "ALLOW_ONCE", "allow", "yes", "Allow once", "allow_once ", "0", "reject", "*", "allow_once,allow_always"} {
		attack(ada, at, yes(q.Digest, fmt.Sprintf(`,"choice":%q`, choice)), "a choice that is not offered: "+choice)
	}
	for _, choice := range []string{"allow_always", "allow_always_project", "reject_always"} {
		attack(ada, onceAt, yes(once.Digest, fmt.Sprintf(`,"choice":%q`, choice)), "always, where only once is offered: "+choice)
	}
	for _, more := range []string{
		``, `,"choice":""`, `,"choice":null`, `,"choice":["allow_once"]`, `,"choice":true`, `,"choice":{"id":"allow_once"}`, `,"decision":null`, `,"decision":{}`, `,"decision":true`, `,"decision":[true]`, `,"decision":{"allow":"true"}`, `,"decision":{"allow":1}`, `,"decision":{"allow":null}`, `,"decision":{"verdict":"allow"}`,
		`,"decision":{"allow":true,"always":true}`, `,"decision":{"allow":true,"scope":"*"}`, `,"decision":{"allow":true,"lasting":true}`, `,"decision":{"allow":true,"by":"policy"}`, `,"decision":{"allow":true,"meta":{}}`, `,"decision":{"allow":true,"args":[]}`, `,"decision":{"allow":true,"args":"x"}`, `,"decision":{"allow":true,"args":1}`,
		`,"choice":"allow_once","decision":{"allow":true}`, `,"choice":"reject_once","decision":{"allow":true}`, `,"reply":{"action":"accept"}`, `,"reply":{"action":"accept","content":{}}`, `,"result":"paid"`, `,"result":{"text":"paid"}`, `,"choice":"allow_once","user":"ada"`, `,"choice":"allow_once","session":"x"`, `,"choice":"allow_once","question":"x"`, `,"Always":true,"choice":"allow_once"`,
	} {
		attack(ada, at, yes(q.Digest, more), "malformed: "+more)
	}
	whole := yes(q.Digest, `,"choice":"allow_once"`)
	for _, body := range []string{"", "null", "[]", `"allow_once"`, "true", "[" + whole + "]", whole + whole, whole + "x", whole[:len(whole)-1], "\xef\xbb\xbf" + whole, strings.Repeat(" ", 1<<20) + "x", `{"digest":["` + q.Digest + `"],"choice":"allow_once"}`, strings.Repeat("[", 100_000)} {
		attack(ada, at, body, fmt.Sprintf("body: %.60q", body))
	}
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "HEAD"} {
		tried++
		status, _ := ada.send(ada.request(method, at, object{"digest": q.Digest, "choice": "allow_once"}))
		require.GreaterOrEqual(t, status, 400, method)
	}
	for name, value := range map[string]string{"Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		forged := ada.as("ada")
		forged.header.Set(name, value)
		attack(forged, at, whole, name)
	}
	require.Empty(t, paid)

	// The one that is right, and what comes after it.
	ada.do("POST", at, answering(q, object{"choice": host.AllowOnce}), 204)
	require.Equal(t, "Ada", <-paid)
	f := ada.follow(path, "")
	f.until(func() bool { return f.has("All done.")() && !f.running })
	for _, way := range ways {
		attack(ada, at, yes(q.Digest, way), "twice"+way)
		attack(eve, at, yes(q.Digest, way), "twice, by another user"+way)
	}
	ada.do("POST", path+"/prompts", say("Ada"), 202) // the same call once more
	f.until(func() bool { return f.question() != nil })
	again := f.question()
	for _, way := range ways {
		attack(ada, at, yes(q.Digest, way), "the question before"+way)
		attack(ada, path+"/questions/"+url.PathEscape(again.ID), yes(q.Digest, way), "the digest before"+way)
	}
	if patience < 0 { // no turn goes on that could be cancelled
		ada.do("POST", path+"/questions/"+url.PathEscape(again.ID), answering(again, object{"choice": host.RejectOnce}), 204)
	} else {
		ada.do("POST", path+"/cancel", object{}, 204)
	}
	f.until(func() bool { return f.question() == nil })
	for _, way := range ways {
		attack(ada, path+"/questions/"+url.PathEscape(again.ID), yes(again.Digest, way), "after the end"+way)
	}
	t.Logf("%d of %d forged answers refused", tried-failed, tried)
	require.GreaterOrEqual(t, tried, 200)
}

// TestNothingOfOthersIsShown asks for the session of another user by every route of the document:
// each says what it says of a session that there never was.
func TestNothingOfOthersIsShown(t *testing.T) {
	paid := make(chan string, 10)
	s := permitting(t, paid, time.Hour)
	ada, eve := s.as("ada"), s.as("eve")
	path, _, q := ada.asked("sesame")
	id := idOf(path)
	document := ada.do("GET", "/api/openapi.json", nil, 200)
	tried := 0
	for route, methods := range document["paths"].(map[string]any) {
		for method := range methods.(map[string]any) {
			method = strings.ToUpper(method)
			if !strings.Contains(route, "{id}") || method == "PARAMETERS" {
				continue
			}
			at := func(id string) string {
				return strings.NewReplacer("{id}", id, "{question}", url.PathEscape(q.ID), "{permission}", "1", "{prompt}", "x", "{setting}", "mode").Replace(route)
			}
			for _, body := range []any{object{}, answering(q, object{"choice": "allow_once"}), say("x"), object{"title": "x"}, object{"value": "x"}, object{"before": "prompt:x"}, object{"score": 1}, nil} {
				tried++
				status, text := eve.send(eve.request(method, at(id), body))
				absent, same := eve.send(eve.request(method, at("NOSUCH"), body))
				require.Equal(t, absent, status, "%s %s %v: %s", method, route, body, text)
				require.Equal(t, strings.ReplaceAll(same, "NOSUCH", id), text, "%s %s", method, route)
				require.NotContains(t, text, "sesame", "%s %s", method, route)
				require.GreaterOrEqual(t, status, 400, "%s %s", method, route)
			}
		}
	}
	// Lists and streams.
	for _, at := range []string{"/api/sessions", "/api/sessions?dir=", "/api/sessions?limit=100", "/api/config"} {
		tried++
		_, text := eve.send(eve.request("GET", at, nil))
		require.NotContains(t, text, "sesame", at)
		require.NotContains(t, text, id, at)
	}
	for _, position := range []string{"", "0", "x"} {
		tried++
		ctx, cancel := context.WithCancel(t.Context())
		query := url.Values{"follow": {id}, "list": {"true"}, "from": {position}}
		r := eve.request("GET", "/api/events?"+query.Encode(), nil).WithContext(ctx)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		first := make([]byte, 1<<16)
		n, _ := res.Body.Read(first)
		cancel()
		_ = res.Body.Close()
		require.NotContains(t, string(first[:n]), "sesame")
	}
	require.Empty(t, paid)
	require.NotEmpty(t, ada.do("GET", path, nil, 200), "it is there")
	t.Logf("%d requests of another user show nothing", tried)
	require.GreaterOrEqual(t, tried, 100)
}
