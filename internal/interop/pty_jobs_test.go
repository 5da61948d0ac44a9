// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a terminal with a shell, in which the terminal client is a job.
func shell(t *testing.T) *glass {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed: it controls jobs in this test")
	}
	g := startInTerminal(t, 80, 24, "bash", "--norc", "--noediting", "-i")
	g.types("PS1='shell'\\> ; cd " + shellWord(demo(t)) + "; clear\r")
	g.waitFor("the prompt of the shell", func(screen string) bool { return screen == "shell>\n" })
	return g
}

// chat starts the client in the shell and returns its process id.
func (g *glass) chat(environment string) int { return g.chatWith(environment, "") }

// chatWith starts it with more flags.
func (g *glass) chatWith(environment, flags string) int {
	g.t.Helper()
	id := filepath.Join(g.t.TempDir(), "id")
	g.types(environment + " sh -c 'echo $$ >" + id + "; exec " + binary + " chat -model offline " + flags + "'\r")
	g.waitForText("What should be done?")
	data, err := os.ReadFile(id)
	if err != nil {
		g.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		g.t.Fatal(err)
	}
	return pid
}

// usable checks that the shell has the terminal, and that the terminal shows what is typed.
func (g *glass) usable(word string) {
	g.t.Helper()
	g.waitFor("the shell's own screen", func(screen string) bool {
		return !strings.Contains(screen, "What should be done?") && strings.HasSuffix(strings.TrimSpace(screen), "shell>")
	})
	g.types("echo " + word + "$((40+2)); stty -a | grep -ow -e '-\\?icanon' -e '-\\?echo'\r")
	g.waitForText("echo " + word + "$((40+2))") // echoed
	g.waitForText(word + "42\n")
	g.waitFor("a terminal in its ordinary mode", func(screen string) bool {
		return strings.Contains(screen, "\nicanon\n") && strings.Contains(screen, "\necho\n") && !strings.Contains(screen, "\n-icanon") && !strings.Contains(screen, "\n-echo\n")
	})
}

// Ctrl-Z stops the client as a job and leaves a usable terminal. After it, SIGTSTP and SIGSTOP, fg brings
// the client's screen back with what was typed.
func TestTerminalClientIsAJob(t *testing.T) {
	t.Parallel()
	g := shell(t)
	pid := g.chat("")
	g.types("a draft")
	g.waitForText("› a draft")
	for i := range 3 {
		g.types("\x1a")
		g.waitForText("Stopped")
		g.usable("stop" + strconv.Itoa(i))
		g.types("fg\r")
		g.waitForText("› a draft")
		g.types("!")
		g.waitForText("› a draft!")
		g.types("\x7f")
		g.waitFor("what was typed", func(screen string) bool { return !strings.Contains(screen, "draft!") })
	}
	for _, signal := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGSTOP} { // nobody has switched the screen back
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
		g.waitForText("Stopped")
		g.types("fg\r")
		g.waitFor("the client's screen", func(screen string) bool {
			return strings.Contains(screen, "› a draft") && !strings.Contains(screen, "Stopped")
		})
	}
	g.types("\x15\x04")
	g.usable("end")
}

// SIGQUIT ends the client with what its goroutines do, and leaves a usable terminal.
func TestSIGQUITLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	g := shell(t)
	pid := g.chat("")
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	g.waitFor("the end", func(screen string) bool { return !strings.Contains(screen, "What should be done?") })
	g.waitForText("shell>")
	g.types("clear\r")
	g.waitFor("an empty screen", func(screen string) bool { return screen == "shell>\n" })
	g.usable("quit")
}

// A prompt is written in the person's editor, which has the terminal for itself meanwhile, and may be
// stopped, too.
func TestEditorHasTheTerminal(t *testing.T) {
	t.Parallel()
	g := shell(t)
	editor := filepath.Join(t.TempDir(), "editor")
	script := "#!/bin/sh\necho \"editing: $(cat \"$1\")\"\nread first\nkill -TSTP 0\nread second\necho \"$first $second\" >\"$1\"\n"
	if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	g.chat("EDITOR=" + editor)
	g.types("a draft\x07")
	g.waitForText("editing: a draft")
	g.types("read the\r")
	g.waitForText("Stopped")
	g.usable("job")
	g.types("fg\r")
	time.Sleep(100 * time.Millisecond) // the shell gives the terminal away
	g.types("file go.mod\r")
	g.waitForText("› read the file go.mod")
	g.types("\r")
	g.waitForText("module ")
	g.waitForText("What should be done?")
	g.types("\x04")
	g.usable("end")
}
