// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/view"
)

// mockTurn is a turn of the mock.
type mockTurn struct {
	s   *mockSession
	n   int
	ctx context.Context
}

func (t *mockTurn) id(kind string) string { return fmt.Sprintf("%s:run%d", kind, t.n) }

func (t *mockTurn) say(name, text string) {
	t.s.put(view.Entity{ID: t.id(name), Kind: view.Message, Role: view.Assistant})
	for word := range strings.SplitAfterSeq(text, " ") {
		t.s.append(t.id(name), word)
	}
}

// wait waits for the test. It reports whether the turn goes on.
func (t *mockTurn) wait() bool {
	select {
	case <-t.s.m.release:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// digest identifies what a question shows.
func digest(q *view.Entity) string {
	data, _ := json.Marshal(q)
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

func (t *mockTurn) ask(q view.Entity) (answer json.RawMessage) {
	c := make(chan json.RawMessage, 1)
	t.s.m.mu.Lock()
	t.s.questions[q.ID] = c
	t.s.m.mu.Unlock()
	q.Kind, q.Status = view.Question, view.Pending
	q.Digest = digest(&q)
	t.s.put(q)
	select {
	case answer = <-c:
		q.Status = view.Completed
		var a struct{ Choice string }
		_ = json.Unmarshal(answer, &a)
		q.Value = a.Choice
	case <-t.ctx.Done():
		q.Status = view.Cancelled
	}
	t.s.put(q)
	return answer
}

const goBefore = "package add\n\n// Add adds.\nfunc Add(a, b int) int {\n\treturn a - b\n}\n\nfunc Sub(a, b int) int {\n\treturn a - b\n}\n"

var goAfter = strings.Replace(goBefore, "return a - b", "return a + b", 1)

// run does what the text says.
func (t *mockTurn) run(said string) {
	switch word, _, _ := strings.Cut(said, " "); word {
	case "stream":
		t.s.put(view.Entity{ID: t.id("thought"), Kind: view.Thought, Content: []view.Content{{Kind: view.Text, Text: "The user wants to see a stream."}}})
		t.say("first", "# A stream\n\nThe *first* half")
		if !t.wait() {
			return
		}
		t.s.append(t.id("first"), " and the **second** half.\n\n```go\nfunc main() {\n\tprintln(\"hi\")\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
	case "edit":
		call := view.Entity{ID: t.id("call"), Kind: view.ToolCall, Name: "edit_file", Title: "Edit add.go", Class: "edit", Status: view.Pending, Input: json.RawMessage(`{"path":"add.go","find":"a - b","replace":"a + b"}`)}
		t.s.put(call)
		old := goBefore
		diff := view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: "add.go", Old: &old, New: goAfter}}
		answer := string(t.ask(view.Entity{ID: t.id("question"), Parent: call.ID, Name: "edit_file", Title: "Edit add.go", Content: []view.Content{diff}, Choices: []view.Choice{
			{ID: "allow_once", Class: "allow_once", Title: "Allow once"}, {ID: "allow_always", Class: "allow_always", Title: "Always allow edit_file in this session"},
			{ID: "reject_once", Class: "reject_once", Title: "Reject"},
		}}))
		if call.Status = view.Failed; strings.Contains(answer, "allow_") || strings.Contains(answer, `"allow":true`) {
			call.Status = view.Completed
			call.Content = []view.Content{diff}
		}
		t.s.put(call)
		t.say("done", "It is "+string(call.Status)+".")
	case "again": // what is shown changes while it is asked
		q := view.Entity{ID: t.id("question"), Name: "write_file", Title: "Write a.txt", Content: text("the first version"), Choices: []view.Choice{{ID: "allow_once", Class: "allow_once", Title: "Allow once"}}}
		go func() {
			if !t.wait() {
				return
			}
			now := q
			now.Kind, now.Status, now.Content = view.Question, view.Pending, []view.Content{{Kind: view.Text, Text: "the second version"}}
			now.Digest = digest(&now)
			t.s.put(now)
			t.s.m.note("asked again")
		}()
		answer := string(t.ask(q))
		t.say("done", "It is "+answer[strings.LastIndex(answer, ":")+2:len(answer)-2]+".")
	case "twice": // the first answer is lost
		q := view.Entity{ID: t.id("question"), Name: "write_file", Title: "Write a.txt", Choices: []view.Choice{{ID: "allow_once", Class: "allow_once", Title: "Allow once"}}}
		t.ask(q)
		time.AfterFunc(50*time.Millisecond, func() { t.s.m.note("asked again") })
		if t.ask(q) != nil {
			t.say("done", "It was allowed twice.")
		}
	case "command":
		call := view.Entity{ID: t.id("call"), Kind: view.ToolCall, Name: "run_command", Title: "go test ./...", Class: "execute", Status: view.Running, Content: []view.Content{{Kind: view.Output, Ref: t.id("command")}}}
		command := view.Entity{ID: t.id("command"), Parent: call.ID, Kind: view.Command, Title: "go test ./...", Status: view.Running}
		t.s.put(command)
		t.s.put(call)
		t.s.append(command.ID, "ok  \texample.com/a\t0.1s\n")
		if !t.wait() {
			return
		}
		t.s.append(command.ID, "\x1b[31mFAIL\x1b[0m\texample.com/b\t0.2s\n")
		command = *t.s.fold.Get(command.ID)
		command.Status, command.Exit = view.Completed, &view.Exit{Code: 1}
		t.s.put(command)
		call.Status = view.Completed
		t.s.put(call)
	case "ask":
		t.ask(view.Entity{ID: t.id("question"), Name: "ask_user", Title: "Which database?", Input: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string","title":"Name"},"kind":{"type":"string","enum":["sqlite","postgres"],"title":"Kind"},"size":{"type":"integer","title":"Size"},"backup":{"type":"boolean","title":"Backup"}},"required":["name","kind"]}`)})
	case "plan":
		for i := range 3 {
			steps := []view.Step{{Text: "Read the code"}, {Text: "Mend the bug"}, {Text: "Run the tests"}}
			for k := range steps {
				steps[k].Status = [...]view.Status{view.Pending, view.Running, view.Completed}[min(2, max(0, i-k+1))]
			}
			t.s.put(view.Entity{ID: "plan", Kind: view.Plan, Steps: steps})
		}
	case "picture":
		const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
		t.s.put(view.Entity{ID: t.id("claim"), Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: "I have checked that."}}, Meta: json.RawMessage(`{"claimed":true}`)})
		t.s.put(view.Entity{ID: t.id("picture"), Kind: view.Message, Role: view.Assistant, Content: []view.Content{
			{Kind: view.Text, Text: "Here it is."}, {Kind: view.Image, MIMEType: "image/png", Data: dot, Name: "plot.png"}, {Kind: view.Image, URI: "https://elsewhere.invalid/plot.png", Name: "other.png"}}})
	case "cite":
		const said = "Größe 🌧: tea is **green**.\n\n- It grows in [Assam](https://assam.test/).\n- Nobody knows why."
		span := func(passage string) view.Span {
			at := strings.Index(said, passage)
			return view.Span{Start: at, End: at + len(passage)}
		}
		t.say("cite", said)
		t.s.appendContent(t.id("cite"),
			view.Content{Kind: view.Link, URI: "https://tea.test/?a=1", Name: "On <b>tea</b>", Cites: []view.Span{span("tea is **green**."), span("Nobody knows why.")}},
			view.Content{Kind: view.Link, URI: "https://assam.test/", Name: "Assam", Cites: []view.Span{span("It grows in [Assam](https://assam.test/).")}},
			view.Content{Kind: view.Link, URI: "javascript:" + attack, Name: "evil", Cites: []view.Span{span("Nobody knows why.")}},
			view.Content{Kind: view.Link, URI: "https://other.test/", Name: "Read, not cited"},
			view.Content{Kind: view.Link, URI: "https://beyond.test/", Name: "Beyond", Cites: []view.Span{{Start: 5, End: 9999}}})
	case "slow":
		t.say("slow", "I am at it.")
		<-t.ctx.Done()
		t.s.put(view.Entity{ID: t.id("notice"), Kind: view.Notice, Class: "warning", Title: "Stopped by the user."})
	case "Go": // pressed on the page
		if t.wait() {
			t.say("answer", "You said: "+said)
		}
	case "burst":
		t.s.put(view.Entity{ID: t.id("burst"), Kind: view.Message, Role: view.Assistant})
		for i := range 5000 {
			t.s.append(t.id("burst"), fmt.Sprintf("word%d ", i))
		}
	default:
		t.say("answer", "You said: "+said)
	}
}
