// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pageMutants break rules of the page, one each. The unit tests of the page have to fail then, or a scenario, if one is named.
var pageMutants = []struct{ rule, file, find, put, scenario string }{
	{"links with other schemes are not followed", "client/text.ts", `if (u.protocol === "mailto:")`, `if (u.protocol)`, ""},
	{"addresses with a password are not followed", "client/text.ts", `if (u.username || u.password) return undefined;`, ``, ""},
	{"only pictures that cannot run scripts are shown", "client/text.ts", `"image/webp"]`, `"image/webp", "image/svg+xml"]`, ""},
	{"direction marks are shown by their code", "client/text.ts", `\u202a-\u202e\u2060-\u206f\ufeff\ufff9`, `\u2060-\u2065\ufeff\ufff9`, ""},
	{"what is approved is shown exactly", "client/text.ts", `return s.replace(invisible, name);`, `return s;`, ""},
	{"escape sequences are left out", "client/text.ts", `s.replace(escapes, "")`, `s`, ""},
	{"only addresses of the web are links of sources", "client/cites.ts", `const web = safe && /^https?:/.test(safe.href);`, `const web = safe;`, ""},
	{"places of sources are counted in bytes", "client/cites.ts", `n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4`, `n = 1`, ""},
	{"a reset clears what was there", "client/fold.ts", `if (u.reset) {`, `if (false) {`, ""},
	{"a part of a large update is not gone on from", "client/feed.ts", `if (n.more) return;`, ``, ""},
	{"a watch goes on at its position", "client/tabs.ts", `w.session, w.from());`, `w.session, "");`, ""},
	{"a tab in the background has no stream", "client/tabs.ts", `(document.visibilityState === "hidden" ? tabs.leave() : tabs.look())`, `tabs.look()`, "hidden"},
	{"tabs share one stream", "client/tabs.ts", `if (tab !== known.tab) this.#resign();`, ``, ""},
	{"the stream outlives the tab that has it", "client/tabs.ts", `    this.#wait(GONE + this.clock.random() * BEAT);`, ``, ""},
	{"what was said twice is heard once", "client/watch.ts", `!n.reset && n.from !== this.#position`, `false`, ""},
	{"text that is streamed is shown now and then", "client/watch.ts", `if (streamed && this.#pause !== undefined) return;`, ``, ""},
	{"the key does not allow edited arguments", "view/question.tsx", `key === "y" && edited === undefined && `, `key === "y" && `, "edit"},
	{"a rewind says what becomes of files", "view/chat.tsx", `: p.config.files`, `: false`, "rewind"},
	{"a key goes by what it types", "client/keys.ts", `/^[a-z]$/i.test(ev.key) ? ev.key.toLowerCase() : ""`, `(ev as KeyboardEvent).code.slice(3).toLowerCase()`, ""},
	{"what is pressed in a field is no shortcut", "client/keys.ts", ` || isTyping(ev)) return "";`, `) return "";`, ""},
	{"a shortcut is not pressed while characters are composed", "client/keys.ts", `return ev.isComposing || `, `return `, ""},
	{"a key that is held down stops one turn", "view/composer.tsx", `if (isHeld(ev)) {`, `if (false) {`, "held"},
	{"what was pressed before a question changed does not answer it", "view/question.tsx", ` key={q.digest}>`, `>`, "held"},
	{"a question that is asked again can be answered", "view/question.tsx", `sent !== q;`, `sent === undefined;`, "twice"},
	{"an answer says what was shown", "client/api.ts", `{ digest: q.digest ?? "", ...a }`, `a`, ""},
	{"pictures from elsewhere are not loaded", "view/content.tsx", `if (c.uri) return <p className="remote">`, `if (c.uri) return <img src={c.uri} alt="" />; if (c.uri) return <p className="remote">`, "pictures"},
	{"what was approved is folded away", "view/item.tsx", `<div className="answered"><Fold id={e.id} title={title}>`, `<div className="answered"><Fold id={e.id} title={title} initially>`, "approve"},
	{"going on begins one turn", "view/chat.tsx", `api.prompt(session, [{ text }], "refuse")`, `api.prompt(session, [{ text }], "wait")`, "stop"},
	{"what is said during a turn begins no other", "client/scores.ts", `else if (e.id.startsWith("prompt:"))`, `else`, ""},
	{"the answer of a turn that is running has no thumbs", "client/scores.ts", `if (!running) end();`, `end();`, ""},
	{"scores are read after a mark", "view/marks.tsx", `.then(read).catch(fail)`, `.catch(fail)`, "marks"},
	{"few elements are on the page", "view/transcript.tsx", `overscan: 8,`, `overscan: 4000,`, "many"},
}

// TestRulesOfThePageHaveTests breaks each rule and looks whether a test fails.
func TestRulesOfThePageHaveTests(t *testing.T) {
	deep(t)
	dir := t.TempDir()
	page := copyPage(t, dir)
	for _, m := range pageMutants {
		t.Run(m.rule, func(t *testing.T) {
			file := filepath.Join(page, "src", filepath.FromSlash(m.file))
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(whole), m.find); n != 1 {
				t.Fatalf("%s has the text to replace %d times, it must be there once", m.file, n)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(whole), m.find, m.put, 1)), 0o666); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := os.WriteFile(file, whole, 0o666); err != nil {
					t.Fatal(err)
				}
			}()
			script := "test"
			if m.scenario != "" {
				script = "build"
			}
			cmd := exec.Command("npm", "run", script)
			cmd.Dir = page
			out, err := cmd.CombinedOutput()
			if m.scenario == "" {
				if err == nil || !strings.Contains(string(out), "not ok") {
					t.Fatalf("no unit test fails: %v\n%s", err, out)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			s := server{env: []string{"PONTE_DIST=" + filepath.Join(dir, "dist")}}
			s.start(t)
			defer s.kill()
			if driven(t, m.scenario, "http://"+s.addr+"/", []string{"PATIENCE=20000"}, nil) == nil {
				t.Fatalf("the scenario %s does not fail", m.scenario)
			}
		})
	}
}
