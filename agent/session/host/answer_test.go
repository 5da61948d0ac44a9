// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// file is a file that others change while somebody is asked about a change to it.
type file struct {
	mu   sync.Mutex
	text string
}

func (f *file) get() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text
}

func (f *file) set(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = text
}

// edit changes the file with approval, which is about the text that was shown.
func edit(f *file, done *[]string) *toolset.Tool[none] {
	return toolset.Func("edit", "Edit.", func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
		*done = append(*done, f.get()+" to "+in.To)
		return "edited", nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		old := f.get()
		return &toolset.Approval{Title: "Edit", Basis: old, Preview: []model.Preview{{Diff: &model.Diff{Path: "f", Old: &old, New: &in.To}}}}, nil
	}))
}

// open waits for a question that is not one that is known by its digest.
func open(t *testing.T, s *host.Session, known string) *view.Entity {
	t.Helper()
	for u, err := range s.Watch(t.Context(), "") {
		require.NoError(t, err)
		if q := u.Snapshot.Last(view.Question); q != nil && q.Status == view.Pending && q.Digest != known {
			return q
		}
	}
	return nil
}

func TestAnswerIsAboutWhatWasShown(t *testing.T) {
	for name, wait := range map[string]bool{"a run waits": true, "a run is pending": false} {
		t.Run(name, func(t *testing.T) {
			f, done := &file{text: "one"}, []string(nil)
			s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
				modeltest.Say(model.ToolCall("c", "edit", `{"to":"two"}`)), modeltest.SayText("done")), edit(f, &done))}))
			p := say("Edit.")
			p.Wait = wait
			ended := make(chan *host.Outcome, 1)
			go func() {
				o, _ := s.Prompt(t.Context(), p)
				ended <- o
			}()
			seen := open(t, s, "")
			f.set("another one")
			late := host.Answer{Digest: seen.Digest, Choice: host.AllowOnce}
			answer := func(id string, a host.Answer) error {
				next, err := s.Answer(t.Context(), id, "", a)
				if next != nil {
					o := next.Resume(host.Prompt{})
					require.True(t, o.Err == nil || o.Reason == transcript.Pending, o.Err)
				}
				return err
			}
			require.NoError(t, answer(seen.ID, late))
			now := open(t, s, seen.Digest)
			require.Equal(t, "another one", *now.Content[0].Diff.Old, "it is shown again")
			require.Empty(t, done)

			for _, again := range []host.Answer{late, {Digest: seen.Digest, Choice: host.RejectOnce}, {Digest: seen.Digest, Decision: new(toolset.Allow())}, {Digest: "x", Choice: host.AllowAlways}} {
				require.ErrorIs(t, answer(now.ID, again), host.ErrChanged)
			}
			var none *host.AnswerError
			require.ErrorAs(t, answer(now.ID, host.Answer{Choice: host.AllowOnce}), &none)
			require.Contains(t, none.Problem, "digest")
			require.Empty(t, done, "nobody has allowed what is shown now")
			require.NoError(t, answer(now.ID, allowed(now)))
			if wait {
				require.NoError(t, (<-ended).Err)
			}
			require.Equal(t, []string{"another one to two"}, done)
		})
	}
}

func TestQuestionOfAPendingRunKeepsItsDigestInOtherProcesses(t *testing.T) {
	store, done := durable{new(session.Memory)}, []string(nil)
	a := newAgent(modeltest.Script(modeltest.Say(model.ToolCall("c", "edit", `{"to":"<é>"}`)), modeltest.SayText("done")), edit(&file{text: "one"}, &done))
	h, err := host.New(host.Config[none, string]{Agent: a, Store: store})
	require.NoError(t, err)
	s, err := h.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)
	require.Equal(t, transcript.Pending, prompt(t, s, "Edit.").Reason)
	before := open(t, s, "")
	require.NoError(t, h.Close(t.Context()))
	s, err = newHost(t, host.Config[none, string]{Agent: a, Store: store}).Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, before.Digest, open(t, s, "").Digest)
}

// TestDigestCoversWhatIsShown changes each field of what is asked, also in fields that are added later.
func TestDigestCoversWhatIsShown(t *testing.T) {
	whole := func() *model.Approval {
		return &model.Approval{
			Parts: []string{"x"}, Covers: []string{"x"}, Meta: json.RawMessage(`"x"`),
			Preview: []model.Preview{{Diff: &model.Diff{Old: new("x"), New: new("x")}}, {Command: &model.CommandLine{Args: []string{"x"}}}, {Text: "x"}},
		}
	}
	digest := func(a *model.Approval) string { return host.DigestOf("q", []string{"c"}, "edit", []byte(`{"a":1}`), a) }
	plain := digest(whole())
	require.Len(t, plain, 64)
	seen := map[string]string{plain: "nothing"}
	note := func(what, d string) {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", what, other)
		}
		seen[d] = what
	}
	var count func(v reflect.Value, path string, change func(path string, v reflect.Value))
	count = func(v reflect.Value, path string, change func(string, reflect.Value)) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				count(v.Elem(), path, change)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				count(v.Field(i), path+"."+v.Type().Field(i).Name, change)
			}
		case reflect.Slice:
			if v.Type() != reflect.TypeFor[json.RawMessage]() {
				for i := range v.Len() {
					count(v.Index(i), path+"[]", change)
				}
			}
			change(path, v)
		default:
			change(path, v)
		}
	}
	n := 0
	count(reflect.ValueOf(whole()), "", func(string, reflect.Value) { n++ })
	require.Greater(t, n, 20)
	for target := range n {
		a, i := whole(), 0
		name := ""
		count(reflect.ValueOf(a), "", func(path string, v reflect.Value) {
			if i++; i-1 != target {
				return
			}
			name = path
			switch {
			case v.Type() == reflect.TypeFor[json.RawMessage]():
				v.Set(reflect.ValueOf(json.RawMessage(`{"no JSON`)))
			case v.Kind() == reflect.String:
				v.SetString(v.String() + " and more")
			case v.Kind() == reflect.Bool:
				v.SetBool(!v.Bool())
			case v.Kind() == reflect.Slice:
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			case v.Kind() == reflect.Map:
				v.Set(reflect.MakeMap(v.Type()))
				v.SetMapIndex(reflect.ValueOf("k"), reflect.Zero(v.Type().Elem()))
			default:
				t.Fatalf("%s: the test does not know %s", path, v.Type())
			}
		})
		note(name, digest(a))
	}
	note("id", host.DigestOf("r", []string{"c"}, "edit", []byte(`{"a":1}`), whole()))
	note("path", host.DigestOf("q", []string{"b", "c"}, "edit", []byte(`{"a":1}`), whole()))
	note("tool", host.DigestOf("q", []string{"c"}, "move", []byte(`{"a":1}`), whole()))
	note("arguments", host.DigestOf("q", []string{"c"}, "edit", []byte(`{"a":9007199254740993}`), whole()))
	note("long numbers", host.DigestOf("q", []string{"c"}, "edit", []byte(`{"a":9007199254740992}`), whole()))
	note("broken arguments", host.DigestOf("q", []string{"c"}, "edit", []byte(`{"a":`), whole()))
	note("other broken arguments", host.DigestOf("q", []string{"c"}, "edit", []byte(`{"b":`), whole()))
	require.Equal(t, plain, host.DigestOf("q", []string{"c"}, "edit", []byte(" {\n\"a\" : 1 } "), whole()), "white space is not shown")
}

const trip = `{"type":"object","required":["city"],"properties":{
	"city":{"type":"string","minLength":2},"days":{"type":"integer","minimum":1},"wet":{"type":"boolean"},
	"size":{"type":"string","enum":["s","m"]},"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}`

// misfits are replies to the form that are refused, with what is said of them.
var misfits = map[string]struct{ action, want string }{
	``:                             {"accept", `field "city" is required`},
	`{}`:                           {"accept", `field "city" is required`},
	`null`:                         {"accept", "not a JSON object"},
	`[]`:                           {"accept", "not a JSON object"},
	`"Oslo"`:                       {"accept", "not a JSON object"},
	`{"city":`:                     {"accept", "not a JSON object"},
	`{"city":null}`:                {"accept", `field "city" is required`},
	`{"city":7}`:                   {"accept", `field "city" must be a string`},
	`{"city":"x"}`:                 {"accept", `field "city" must have`},
	`{"city":["Oslo"]}`:            {"accept", `field "city" must be a string`},
	`{"city":{"a":1}}`:             {"accept", `field "city" must be a string`},
	`{"city":"Oslo","days":"1"}`:   {"accept", `field "days" must be an integer`},
	`{"city":"Oslo","days":0}`:     {"accept", `field "days" must be at least 1`},
	`{"city":"Oslo","wet":1}`:      {"accept", `field "wet" must be true or false`},
	`{"city":"Oslo","size":"l"}`:   {"accept", `field "size" must be one of`},
	`{"city":"Oslo","tags":["c"]}`: {"accept", `field "tags" must not contain`},
	`{"city":"Oslo","evil":"x"}`:   {"accept", `"evil" is not a field`},
	`{"city":"Oslo"}`:              {"allow", "use accept, decline or cancel"},
	`{"city":"Oslo","city":7}`:     {"accept", `field "city" must be a string`},
}

// asks has a tool that asks for a trip, and keeps what it was told.
func asks(schema string, told *[]string) *toolset.Tool[none] {
	return toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		r, err := run.Ask(ctx, toolset.Question{Message: "Where?", Schema: json.RawMessage(schema)})
		if err != nil {
			*told = append(*told, err.Error())
			return "", err
		}
		*told = append(*told, string(r.Action)+" "+string(r.Content))
		return "asked", nil
	})
}

func TestReplyFitsTheForm(t *testing.T) {
	for reply, want := range map[string]string{`{"city":"Oslo","days":2.0,"wet":null}`: `accept {"city":"Oslo","days":2}`, "decline": "decline "} {
		var told []string
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
			modeltest.Say(model.ToolCall("c", "ask", `{}`)), modeltest.SayText("done")), asks(trip, &told))}))
		p := say("Ask.")
		p.Wait = true
		p.Asker = toolset.AskerFuncs{OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"city":7}`)}, nil
		}}
		ended := make(chan *host.Outcome, 1)
		go func() {
			o, _ := s.Prompt(t.Context(), p)
			ended <- o
		}()
		q := open(t, s, "")
		for content, bad := range misfits {
			err := s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Reply: &toolset.Reply{Action: toolset.Action(bad.action), Content: json.RawMessage(content)}})
			var wrong *host.AnswerError
			require.ErrorAs(t, err, &wrong, content)
			require.Contains(t, wrong.Problem, bad.want, content)
			require.ErrorAs(t, s.CheckAnswer(q.ID, host.Answer{Digest: q.Digest, Choice: "yes"}), &wrong)
		}
		require.Empty(t, told, "the question is open")
		answer := toolset.Reply{Action: toolset.ActionDecline, Content: json.RawMessage(`{"evil":1}`)}
		if reply != "decline" {
			answer = toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(reply)}
		}
		require.NoError(t, s.CheckAnswer(q.ID, host.Answer{Digest: q.Digest, Reply: &answer}))
		require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Reply: &answer}))
		require.NoError(t, (<-ended).Err)
		require.Equal(t, []string{want}, told)
	}
}

func TestReplyOfASurfaceFitsTheForm(t *testing.T) {
	for content, bad := range misfits {
		var told []string
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
			modeltest.Say(model.ToolCall("c", "ask", `{}`)), modeltest.SayText("done")), asks(trip, &told))}))
		p := say("Ask.")
		p.Asker = toolset.AskerFuncs{OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{Action: toolset.Action(bad.action), Content: json.RawMessage(content)}, nil
		}}
		o, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		require.NoError(t, o.Err, "the model is told")
		require.Len(t, told, 1)
		require.Contains(t, told[0], bad.want, content)
	}
}

func TestFormThatNobodyCanCheckIsNotAsked(t *testing.T) {
	for form, want := range map[string]string{
		`{"type":"object","properties":{"where":{"type":"object"}}}`:                         `field "where"`,
		`{"type":"object","properties":{"where":{"type":"string","not":{"const":"there"}}}}`: `"not"`,
	} {
		var told []string
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
			modeltest.Say(model.ToolCall("c", "ask", `{}`)), modeltest.SayText("done")), asks(form, &told))}))
		p := say("Ask.")
		p.Wait = true
		o, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		require.Error(t, o.Err)
		require.Contains(t, told[0], want)
		require.False(t, errors.Is(o.Err, context.Canceled))
	}
}

// newer is the store of a process of another version, whose forms have a keyword that this one does not know.
type newer struct{ shared }

func (n newer) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	for i := range b.Entries {
		b.Entries[i].Data = bytes.ReplaceAll(b.Entries[i].Data, []byte(`"minLength":2`), []byte(`"minLength":2,"not":{}`))
	}
	return n.shared.Append(ctx, l, head, b)
}

func TestFormOfAnotherVersionIsAnsweredWhereItIsAsked(t *testing.T) {
	var told []string
	store := shared{new(session.Memory)}
	host1 := newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "ask", `{}`)), modeltest.SayText("done")), asks(trip, &told)), Store: newer{store}, Holder: "newer"})
	s := create(t, host1)
	ended := make(chan *host.Outcome, 1)
	go func() {
		p := say("Ask.")
		p.Wait = true
		o, _ := s.Prompt(t.Context(), p)
		ended <- o
	}()
	q := open(t, s, "")
	other, err := machine(t, store.Memory, "older", modeltest.Script()).Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	answer := host.Answer{Digest: q.Digest, Reply: &toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"city":"Oslo"}`)}}
	var wrong *host.AnswerError
	require.ErrorAs(t, other.Decide(t.Context(), q.ID, "", answer), &wrong)
	require.Contains(t, wrong.Problem, `field "city"`)
	require.Contains(t, wrong.Problem, "answer where it is asked")
	require.NoError(t, s.Decide(t.Context(), q.ID, "", answer))
	require.NoError(t, (<-ended).Err)
	require.Equal(t, []string{`accept {"city":"Oslo"}`}, told)
}
