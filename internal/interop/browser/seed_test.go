// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

func text(s string) []view.Content { return []view.Content{{Kind: view.Text, Text: s}} }

// seed makes the sessions that are there at the beginning.
func (m *mock) seed() {
	m.seedMany()
	m.seedDemo()
	m.seedAttacks()
	m.seedStrings(os.Getenv("PONTE_STRINGS"))
}

// seedStrings is a session with each string of a list in a file, wherever the text of models and tools is shown.
func (m *mock) seedStrings(file string) {
	data, err := os.ReadFile(file)
	var all []string
	if err != nil || json.Unmarshal(data, &all) != nil {
		return
	}
	s := m.add("strings", "Strings")
	for i, a := range all {
		id := func(kind string) string { return fmt.Sprintf("%s:%d", kind, i) }
		s.put(view.Entity{ID: id("message"), Kind: view.Message, Role: view.Assistant, Content: text(a)})
		s.put(view.Entity{ID: id("call"), Kind: view.ToolCall, Name: a, Title: a, Class: a, Status: view.Completed, Content: []view.Content{
			{Kind: view.Text, Text: a}, {Kind: view.Link, URI: a, Name: a}, {Kind: view.Image, URI: a, Name: a}, {Kind: view.Resource, URI: a, Name: a, Text: a}, {Kind: view.Diff, Diff: &view.FileChange{Path: a, Old: &a, New: a + a}},
		}})
	}
}

// seedMany is a session with 400 tool calls.
func (m *mock) seedMany() {
	s := m.add("many", "Four hundred calls")
	for i := range 400 {
		old := goBefore
		e := view.Entity{ID: fmt.Sprintf("call:%d", i), Kind: view.ToolCall, Name: "edit_file", Title: fmt.Sprintf("Edit file %d", i), Class: "edit", Status: view.Completed,
			Content: []view.Content{{Kind: view.Diff, Diff: &view.FileChange{Path: fmt.Sprintf("file%d.go", i), Old: &old, New: goAfter}}}}
		s.put(e)
		if i%10 == 0 {
			s.put(view.Entity{ID: fmt.Sprintf("message:%d", i), Kind: view.Message, Role: view.Assistant, Content: text(strings.Repeat("Some *text* between the calls. ", 20))})
		}
	}
}

// seedDemo is the session of the picture in the README.
func (m *mock) seedDemo() {
	s := m.add("demo", "Mend the failing test of add")
	s.put(view.Entity{ID: "prompt:1", Kind: view.Message, Role: view.User, Content: text("The test of `Add` fails. Find out why, and mend it.")})
	s.put(view.Entity{ID: "thought:1", Kind: view.Thought, Content: text("I run the tests first, to see what fails, and then read the function.")})
	s.put(view.Entity{ID: "command:1", Parent: "call:1", Kind: view.Command, Title: "go test ./...", Status: view.Completed, Exit: &view.Exit{Code: 1},
		Content: text("--- FAIL: TestAdd (0.00s)\n    add_test.go:9: Add(2, 3) = -1, want 5\nFAIL\nFAIL\texample.com/add\t0.002s\n")})
	s.put(view.Entity{ID: "call:1", Kind: view.ToolCall, Name: "run_command", Title: "go test ./...", Class: "execute", Status: view.Completed, Content: []view.Content{{Kind: view.Output, Ref: "command:1"}}})
	s.put(view.Entity{ID: "call:2", Kind: view.ToolCall, Name: "read_file", Title: "Read add.go", Class: "read", Status: view.Completed, Input: json.RawMessage(`{"path":"add.go"}`), Content: text(goBefore), Locations: []view.Location{{Path: "add.go"}}})
	s.put(view.Entity{ID: "message:1", Kind: view.Message, Role: view.Assistant, Content: text("`Add` subtracts: it was copied from `Sub`. The mending is one character.\n\n```go\nfunc Add(a, b int) int {\n\treturn a + b // not a - b\n}\n```\n")})
	s.put(view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "Run the tests", Status: view.Completed}, {Text: "Mend Add", Status: view.Running}, {Text: "Run the tests again", Status: view.Pending}}})
	s.put(view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 18234, Size: 200000, Cost: 0.042, Currency: "USD"}})
	s.put(view.Entity{ID: "call:3", Kind: view.ToolCall, Name: "edit_file", Title: "Edit add.go", Class: "edit", Status: view.Pending, Input: json.RawMessage(`{"path":"add.go","find":"a - b","replace":"a + b"}`)})
	old := goBefore
	s.put(view.Entity{ID: "question:3", Parent: "call:3", Kind: view.Question, Name: "edit_file", Title: "Edit add.go", Status: view.Pending,
		Content: []view.Content{{Kind: view.Diff, Diff: &view.FileChange{Path: "add.go", Old: &old, New: goAfter}}}, Choices: []view.Choice{
			{ID: "allow_once", Class: "allow_once", Title: "Allow once"}, {ID: "allow_always", Class: "allow_always", Title: "Always allow edit_file in this session"},
			{ID: "reject_once", Class: "reject_once", Title: "Reject"},
		}})
	s.running = true
}

// attack is a part of each text below that must not run. The test looks for what it would leave behind.
const attack = "window.hit=1"

// attacks are texts that try to run a script, to load something from elsewhere, or to look like something else.
var attacks = []string{
	`<script>` + attack + `</script>`,
	`<img src=x onerror="` + attack + `">`,
	`<svg onload="` + attack + `"><script>` + attack + `</script></svg>`,
	`<svg><animate onbegin="` + attack + `" attributeName=x dur=1s>`,
	`<iframe srcdoc="<script>parent.` + attack + `</script>"></iframe>`,
	`<object data="javascript:` + attack + `"></object><embed src="javascript:` + attack + `">`,
	`<details open ontoggle="` + attack + `">`,
	`<style>@import "http://elsewhere.invalid/a.css";</style><link rel=stylesheet href="http://elsewhere.invalid/b.css">`,
	`<base href="http://elsewhere.invalid/"><meta http-equiv=refresh content="0;url=http://elsewhere.invalid/">`,
	`<form action="javascript:` + attack + `"><button autofocus onfocus="` + attack + `">x</button></form>`,
	`<math><mtext><table><mglyph><style><!--</style><img title="--><img src=x onerror=` + attack + `>">`,
	`<noscript><p title="</noscript><img src=x onerror=` + attack + `>">`,
	`<a href="javascript:` + attack + `">a</a>`,
	`[a](javascript:` + attack + `)`,
	`[a](JaVaScRiPt:` + attack + `)`,
	"[a](java\tscript:" + attack + ")",
	`[a](&#106;avascript:` + attack + `)`,
	`[a](javascript&colon;` + attack + `)`,
	`[a](%6Aavascript:` + attack + `)`,
	"[a](\u0001javascript:" + attack + ")",
	`[a](vbscript:msgbox)`,
	`[a](data:text/html;base64,PHNjcmlwdD53aW5kb3cuaGl0PTE8L3NjcmlwdD4=)`,
	`[a](data:text/html,<script>` + attack + `</script>)`,
	`[a](blob:http://elsewhere.invalid/x)`,
	`[a](file:///etc/passwd)`,
	`[a](//elsewhere.invalid/x)`,
	`[https://bank.example](https://elsewhere.invalid/steal)`,
	`[a](https://bank.example@elsewhere.invalid/)`,
	"[ref]\n\n[ref]: javascript:" + attack,
	`<javascript:` + attack + `>`,
	`![a](javascript:` + attack + `)`,
	`![a](http://elsewhere.invalid/pixel.png)`,
	`![a](//elsewhere.invalid/pixel.png)`,
	`![a](data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0id2luZG93LmhpdD0xIi8+)`,
	`![a](data:image/png;base64,"onerror="` + attack + `)`,
	`![" onerror="` + attack + `](x)`,
	`[a](https://elsewhere.invalid/ "" onmouseover="` + attack + `")`,
	"```\"><img src=x onerror=" + attack + ">\n</code></pre><script>" + attack + "</script>\n```",
	"```html\n<script>" + attack + "</script>\n```",
	"`</code><script>" + attack + "</script>`",
	"| a |\n|---|\n| <img src=x onerror=" + attack + "> |",
	`&lt;script&gt;` + attack + `&lt;/script&gt;`,
	`&#60;img src=x onerror=` + attack + `&#62;`,
	`{{constructor.constructor('` + attack + `')()}}`,
	`__proto__ [a](constructor) ![toString](valueOf)`,
	"allow \u202eexe.txt\u202c and \u2066hidden\u2069 \u200b\u200f\ufeff",
	"\U000e0041\U000e0042 tags",
	strings.Repeat("> ", 500) + "deep",
	strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	strings.Repeat("*a_ ", 3000),
}

// seedAttacks is a session that has each of the attacks wherever text is shown.
func (m *mock) seedAttacks() {
	s := m.add("attacks", `Attacks <img src=x onerror="`+attack+`">`)
	svg := "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjxzY3JpcHQ+d2luZG93LmhpdD0xPC9zY3JpcHQ+PC9zdmc+"
	for i, a := range attacks {
		id := func(kind string) string { return fmt.Sprintf("%s:%d", kind, i) }
		quoted, _ := json.Marshal(map[string]string{a: a})
		s.put(view.Entity{ID: id("user"), Kind: view.Message, Role: view.User, Content: []view.Content{
			{Kind: view.Text, Text: a}, {Kind: view.Image, MIMEType: "image/svg+xml", Data: svg, Name: a}, {Kind: view.Image, URI: "http://elsewhere.invalid/p.png", Name: a},
			{Kind: view.Link, URI: a, Name: a}, {Kind: view.Link, URI: "javascript:" + attack, Name: "https://bank.example"}}})
		s.put(view.Entity{ID: id("message"), Kind: view.Message, Role: view.Assistant, Content: append(text(a),
			view.Content{Kind: view.Link, URI: a, Name: a, Cites: []view.Span{{Start: 0, End: len(a)}}}, view.Content{Kind: view.Link, URI: "https://a.test/", Name: a, Cites: []view.Span{{Start: 0, End: (len(a) + 1) / 2}}})})
		s.put(view.Entity{ID: id("thought"), Kind: view.Thought, Content: text(a)})
		s.put(view.Entity{ID: id("notice"), Kind: view.Notice, Class: a, Title: a, Content: text(a)})
		s.put(view.Entity{ID: id("command"), Kind: view.Command, Title: a, Status: view.Completed, Content: text(a + "\x1b]8;;javascript:" + attack + "\x07link\x1b]8;;\x07"), Exit: &view.Exit{Signal: a}})
		s.put(view.Entity{ID: id("call"), Kind: view.ToolCall, Name: a, Title: a, Class: a, Status: view.Status(a), Input: quoted, Output: quoted, Locations: []view.Location{{Path: a}},
			Content: []view.Content{{Kind: view.Text, Text: a}, {Kind: view.Resource, URI: a, Name: a, MIMEType: a, Text: a}, {Kind: view.Audio, MIMEType: `audio/x" onerror="` + attack, Data: a},
				{Kind: view.Diff, Diff: &view.FileChange{Path: a, Old: &a, New: a + "\n" + a}}, {Kind: "unknown", Raw: quoted}}})
	}
	a := attacks[1]
	s.put(view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: a, Status: view.Status(a), Priority: a}}})
	s.put(view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 1, Cost: 1, Currency: a}})
	s.put(view.Entity{ID: "question", Kind: view.Question, Name: a, Title: a, Status: view.Pending, Content: text(a),
		Choices: []view.Choice{{ID: "allow_once", Class: "allow_once", Title: a, Description: a}, {ID: a, Class: a, Title: "Reject \u202e" + a}}})
}
