// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// demo returns a copy of the project with a mistake.
func demo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "demo"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// leave ends the terminal client.
func (g *glass) leave() {
	g.t.Helper()
	g.types("\x04")
	if err := g.cmd.Wait(); err != nil {
		g.t.Fatal(err)
	}
	<-g.ended
}

// The terminal client begins a new conversation, lists the agent's, and goes on with one.
func TestTerminalClientOpensSessions(t *testing.T) {
	t.Parallel()
	g := startInTerminal(t, 80, 24, binary, "chat", "-model", "offline", "-dir", demo(t))
	g.waitForText("What should be done?")
	g.types("read go.mod\r")
	g.waitForText("module ")
	g.waitForText("ideagent in project")
	g.types("/new\r")
	g.waitFor("a new conversation", func(screen string) bool {
		return strings.Contains(screen, "A new conversation.") && !strings.Contains(screen, "module ")
	})
	g.types("/sessions\r")
	g.waitForText("read go.mod")
	g.types("/sessions 1\r")
	g.waitForText("module ")
	g.types("again\r")
	g.waitFor("the agent remembers", func(screen string) bool { return strings.Count(screen, "Read go.mod") == 2 })
	g.waitForText("ideagent in project")
	g.leave()
}

// The terminal client has a person fill in the agent's form, on its screen.
func TestTerminalClientFillsInForms(t *testing.T) {
	t.Parallel()
	features := strings.Join(self(t, "features"), " ")
	g := startInTerminal(t, 120, 40, binary, "chat", "-agent", features, "-dir", demo(t))
	g.waitForText("What should be done?")
	g.types("form\ryBergen\r") // the rest is typed ahead: it answers nothing
	g.waitForText("The agent asks: Where to?")
	g.answer("y", "Fill in the form")
	g.waitForText("Enter answers")
	g.types("bergen\r")
	g.waitForText("! City must match ^[A-Z]")
	for _, answer := range []string{"Bergen", "3", "", "", "second", "", "night", "yes", "aisle"} { // by their names
		before := g.screen()
		g.types(answer + "\r")
		g.waitFor("the next field", func(screen string) bool { return screen != before && !strings.Contains(screen, "› "+answer+"\n") })
	}
	g.waitForText("↳ answered")
	g.waitForText(`"city":"Bergen","class":"2","days":3,"meals":["night"],"rain":true,"seat":"aisle"`)
	g.types("\x15")
	g.waitForText("in project")
	g.leave()
}

// An agent that others wrote, in the terminal client: its question, the answer, and what it did.
func TestForeignAgentInTheTerminal(t *testing.T) {
	f := foreigners["opencode"]
	command, place := f.at(t)
	line := ""
	for _, v := range command.Env {
		line += shellWord(v) + " "
	}
	for _, word := range append([]string{command.Path}, command.Args...) {
		line += shellWord(word) + " "
	}
	g := startInTerminal(t, 100, 30, binary, "chat", "-agent", line, "-dir", place.repo)
	g.patience = slow
	g.waitForText("What should be done?")
	g.types("Make made.txt.\r")
	g.waitForText("━━ Question")
	g.waitForText(touch)
	g.answer("y", "━━ Question")
	g.waitForText("All done.")
	if !ran(t, place) {
		t.Error("the command did not run")
	}
	g.waitForText("What should be done?")
	g.leave()
}

// shellWord quotes a word, or what follows the name of a variable.
func shellWord(s string) string {
	name, value, ok := strings.Cut(s, "=")
	if !ok || strings.ContainsAny(name, "/ '") {
		name, value = "", s
	} else {
		name += "="
	}
	return name + "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
