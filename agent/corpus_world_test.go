// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// setting is what the runs of a scene happen in. It notes all that happens.
type setting struct {
	scene  *scene
	begun  time.Time
	cancel context.CancelCauseFunc
	inbox  agent.Inbox
	store  *scenesStore

	mu           sync.Mutex
	lines        []string
	asked        int // of the person
	model, inner int
	bases        int
	messages     map[*model.Message]string
	tools        string
}

func newSetting(_ *testing.T, s *scene) *setting {
	return &setting{scene: s, begun: time.Now(), messages: map[*model.Message]string{}}
}

func (w *setting) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// panicPlace is the place of a panic.
var panicPlace = regexp.MustCompile(` \(corpus_\w+\.go:\d+ in \S+\)`)

var madeID = regexp.MustCompile(`\b[A-Z2-7]{26}\b`)

// numbered replaces random ids by numbers, in the order in which they appear, and leaves out the places of panics.
func numbered(text string) string {
	numbers := map[string]string{}
	text = panicPlace.ReplaceAllString(text, "")
	return madeID.ReplaceAllStringFunc(text, func(id string) string {
		if numbers[id] == "" {
			numbers[id] = fmt.Sprintf("#%d", len(numbers)+1)
		}
		return numbers[id]
	})
}

func (w *setting) String() string { return numbered(strings.Join(w.lines, "\n")) + "\n" }

// doneWithout returns what has happened, without lines that begin with a word, and results.
func (w *setting) doneWithout(word string) string {
	var left []string
	for _, line := range w.lines {
		if !strings.HasPrefix(line, word) && !strings.HasPrefix(line, "result") && !strings.HasPrefix(line, "error") {
			left = append(left, line)
		}
	}
	return numbered(strings.Join(left, "\n"))
}

// when returns how long ago the world began, in the text that is told.
func (w *setting) when(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return "+" + at.Sub(w.begun).String()
}

func plainJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	text := strings.NewReplacer(`\"`, "'", `{"v":1,`, "{").Replace(string(data))
	return strings.ReplaceAll(text, `"`, "")
}

// message shows all of a message.
func (w *setting) message(m *model.Message) string {
	bare := *m
	bare.Kind, bare.RunID, bare.ConversationID, bare.Time, bare.Step, bare.Parts = "", "", "", time.Time{}, 0, nil
	s := fmt.Sprintf("%s of %s in %s step %d %s", m.Kind, m.RunID, m.ConversationID, m.Step, w.when(m.Time))
	rest := strings.NewReplacer("{kind:,", "{", "provider:acme,model:outer,", "").Replace(plainJSON((*plainMessage)(&bare)))
	if rest != "{kind:}" {
		s += " " + rest
	}
	for i := range m.Parts {
		s += "\n    " + plainJSON(m.Parts[i])
	}
	return s
}

// plainMessage has no JSON form of its own.
type plainMessage model.Message

// event shows all of an event. A message that was shown before is named by its number.
func (w *setting) event(e agent.Event) string {
	message := e.Message
	if e.Message = nil; message != nil && w.messages[message] == "" {
		w.messages[message] = fmt.Sprintf("message %d", len(w.messages)+1)
		return plainEvent(e) + " " + w.messages[message] + ": " + w.message(message)
	}
	return strings.TrimSpace(plainEvent(e) + " " + w.messages[message])
}

func plainEvent(e agent.Event) string {
	text := strings.NewReplacer(`\"`, "'", `"v":1,`, "", `{"kind":`, "{").Replace(string(e.AppendJSON(nil)))
	text = strings.ReplaceAll(text, `"`, "")
	return regexp.MustCompile(`time:2000-01-01T00:00:00(\.\d+)?Z,`).ReplaceAllString(text, "")
}

// result shows all of a result or an error. Messages that were shown before are named by their numbers, unless whole is set.
func (w *setting) result(res *agent.Result[string], err error, whole bool) string {
	var b strings.Builder
	messages, usage := []*model.Message(nil), toolset.Usage{}
	var e *agent.RunError
	switch {
	case res != nil:
		fmt.Fprintf(&b, "result %q of %s, run %s, conversation %s", res.Output, res.Agent, res.RunID, res.ConversationID)
		if res.Cut != "" {
			fmt.Fprintf(&b, ", cut %s", res.Cut)
		}
		messages, usage = res.Messages, res.Usage
	case errors.As(err, &e):
		fmt.Fprintf(&b, "error %s of %s, run %s, conversation %s, at %q, tool %q, call %q, attempt %d, ended %v: %v\n  is %s", plainJSON(agent.DescribeError(err).Kind), e.Agent, e.RunID, e.ConversationID, e.Stage, e.Tool, e.CallID, e.Attempt, e.Ended, err, sentinels(err))
		messages, usage = e.Messages, e.Usage
	default:
		fmt.Fprintf(&b, "error %T %v", err, err)
	}
	fmt.Fprintf(&b, "\n  usage %s\n", plainJSON(usage))
	for _, m := range messages {
		if number := w.messages[m]; number != "" && !whole {
			fmt.Fprintf(&b, "  %s\n", number)
			continue
		}
		fmt.Fprintf(&b, "  %s\n", w.message(m))
	}
	return b.String()
}

// brief shows of a result what is the same on all engines.
func (w *setting) brief(res *agent.Result[string], err error) string {
	if res != nil {
		return fmt.Sprintf("result %q cut %q usage %s\n%s", res.Output, res.Cut, plainJSON(res.Usage), dump(res.Messages))
	}
	var e *agent.RunError
	if !errors.As(err, &e) {
		return err.Error()
	}
	return fmt.Sprintf("error at %q, tool %q, call %q, attempt %d: %v, usage %s\n%s", e.Stage, e.Tool, e.CallID, e.Attempt, err, plainJSON(e.Usage), dump(e.Messages))
}

// sentinels names what an error is.
func sentinels(err error) string {
	var all []string
	for name, target := range map[string]error{
		"ErrFinished": agent.ErrFinished, "ErrResults": agent.ErrResults, "ErrRunID": agent.ErrRunID, "ErrNoPrompt": agent.ErrNoPrompt,
		"ErrTokenLimit": agent.ErrTokenLimit, "ErrContentFilter": agent.ErrContentFilter, "ErrRefused": agent.ErrRefused, "ErrResponseFailed": agent.ErrResponseFailed,
		"ErrIncompleteToolCall": agent.ErrIncompleteToolCall, "ErrUnprocessedCalls": agent.ErrUnprocessedCalls, "ErrStopped": agent.ErrStopped,
		"ErrInboxInUse": agent.ErrInboxInUse, "errBoom": errBoom, "Canceled": context.Canceled,
	} {
		if errors.Is(err, target) {
			all = append(all, name)
		}
	}
	types := []string{}
	var walk func(err error)
	walk = func(err error) {
		if name := fmt.Sprintf("%T", err); !strings.HasPrefix(name, "*errors.") && !strings.HasPrefix(name, "*fmt.") {
			types = append(types, name)
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		}
	}
	walk(err)
	sortStrings(all)
	return strings.Join(append(types, all...), " ")
}

// decide is what the person says about a call. The words of an answer are
//
//	allow, deny REASON, defer, nobody, fail, args JSON, verdict X
func (w *setting) decide(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	w.mu.Lock()
	n := w.asked
	w.asked++
	w.mu.Unlock()
	said := "defer"
	if n < len(w.scene.asker) {
		said = w.scene.asker[n]
	}
	w.say("person is asked %s and says %q", plainJSON(r), said)
	what, rest, _ := strings.Cut(said, " ")
	by := func(d toolset.Decision) (toolset.Decision, error) { d.By = "ada"; return d, nil }
	switch what {
	case "allow":
		return by(toolset.Allow())
	case "deny":
		return by(toolset.Deny(rest))
	case "defer":
		return by(toolset.Defer())
	case "args":
		return by(toolset.AllowWith(json.RawMessage(rest)))
	case "nobody":
		return toolset.Decision{}, toolset.ErrNobody
	case "fail":
		return toolset.Decision{}, errBoom
	}
	return toolset.Decision{Verdict: toolset.Verdict(rest)}, nil
}

func (w *setting) reply(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	w.say("person is asked the question %s", plainJSON(q))
	return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"n":1}`)}, nil
}

// options reads the line of a run: options, and behind a colon the prompt. The options are
//
//	results=ID:allow|deny REASON|args JSON|text TEXT,…   resume   fresh   id=ID   leave=KIND   limits as in the configuration
func (s *scene) options(t *testing.T, w *setting, n int, line string, history []*model.Message) (prompt string, opts []agent.RunOption) {
	line, prompt, _ = strings.Cut(line, ": ")
	id := fmt.Sprintf("r%d", n+1)
	opts = w.withStore(append(opts, agent.WithConversationID("k")))
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "fresh", ":", "leave":
			if key == "fresh" {
				history = nil
			}
		case "resume":
			opts = append(opts, agent.WithResume())
		case "id":
			id = value
		case "inbox":
			opts = append(opts, agent.WithInbox(&w.inbox))
		case "meta":
			opts = append(opts, agent.WithMetadata(map[string]string{"from": value}))
		case "results":
			opts = append(opts, agent.WithResults(readResults(value)))
		case "marked":
			history = agent.MarkAllowed(history, readResults(value))
		case "keep": // so many messages
			history = history[:atoi(t, value)]
		case "policies":
			opts = append(opts, agent.WithPolicies(w.policy("option", value)))
		case "limits":
			opts = append(opts, agent.WithLimits(readLimits(t, value)))
		case "instructions":
			opts = append(opts, agent.WithInstructions(value))
		case "retries":
			opts = append(opts, agent.WithToolRetries(atoi(t, value)))
		default:
			require.Fail(t, "unknown option", word)
		}
	}
	return prompt, append(opts, agent.WithRunID(id), agent.WithHistory(history))
}

// readResults reads answers to pending calls. Words in them are joined by "_".
func readResults(text string) (r agent.DeferredResults) {
	for item := range strings.SplitSeq(text, ";") {
		key, said, _ := strings.Cut(item, ":")
		what, rest, _ := strings.Cut(strings.ReplaceAll(said, "_", " "), " ")
		switch what {
		case "allow":
			r.Decide(key, toolset.Decision{Verdict: toolset.VerdictAllow, By: "bob"})
		case "deny":
			r.Decide(key, toolset.Decision{Verdict: toolset.VerdictDeny, Reason: rest, By: "bob"})
		case "args":
			r.Decide(key, toolset.Decision{Verdict: toolset.VerdictAllow, Args: json.RawMessage(rest), By: "bob"})
		case "text":
			r.Supply(key, toolset.Result{Text: rest, Meta: json.RawMessage(`{"from":"outside"}`)})
		case "failed":
			r.Supply(key, toolset.Result{Text: rest, Outcome: model.OutcomeFailed})
		default:
			r.Decide(key, toolset.Decision{Verdict: toolset.Verdict(what)})
		}
	}
	return r
}
