// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// worker does a person's work in a terminal with a shell.
type worker struct {
	*glass
	random *rand.Rand
	pid    int
	done   int // interactions
	made   map[string]string
}

// settled waits until the agent rests and the screen does.
func (w *worker) settled() string {
	w.t.Helper()
	last, since := "", time.Now()
	return w.waitFor("the screen to rest", func(screen string) bool {
		if screen != last {
			last, since = screen, time.Now()
		}
		return time.Since(since) > 120*time.Millisecond && !strings.Contains(screen, "Ctrl-C cancels")
	})
}

// right checks that the screen is what it is when all of it is drawn again, cell by cell.
func (w *worker) right() {
	w.t.Helper()
	was, is := "", ""
	for range 5 { // a hint may go meanwhile
		was = w.settled()
		if err := syscall.Kill(w.pid, syscall.SIGWINCH); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		if is = w.settled(); is == was {
			return
		}
	}
	w.t.Fatalf("after %d interactions the screen was\n%s\nand is, drawn again,\n%s", w.done, was, is)
}

// say sends a prompt, and answers its question.
func (w *worker) say(prompt, answer string) {
	w.types(prompt + "\r")
	if answer != "" {
		w.waitForText("━━ Question")
		w.answer(answer, "━━ Question")
		w.types("\x15")
	}
}

// interact does one thing of those that people do all day.
func (w *worker) interact() {
	w.t.Helper()
	w.done++
	switch n := w.random.IntN(12); n {
	case 0:
		w.say("read go.mod", "")
	case 1, 2:
		name, text := fmt.Sprintf("made-%d.txt", w.done), fmt.Sprintf("気温 number %d", w.done)
		if n == 1 {
			w.made[name] = text
			w.say(fmt.Sprintf("create %s with %q", name, text), "y")
		} else {
			w.say(fmt.Sprintf("create %s with %q", name, text), "n")
		}
	case 3:
		w.types("\x1b[5~\x1b[5~")
	case 4:
		w.types("\x1b[6~")
	case 5:
		w.types("\x0f")
	case 6:
		w.types("half a 気温 thought\x1b[D\x1b[D!\x05\x15")
	case 7:
		w.resize(40+w.random.IntN(120), 12+w.random.IntN(30))
	case 8:
		w.types(fmt.Sprintf("!echo %d-$((40+2))\r", w.done))
		w.waitForText(fmt.Sprintf("%d-42", w.done))
	case 9:
		w.types("/keys\r")
	case 10:
		w.stopAndGoOn()
	case 11:
		w.types("/new\r")
		w.waitFor("a new conversation", func(screen string) bool {
			return strings.Contains(screen, "A new conversation.") && !strings.Contains(screen, "mode: ")
		})
		w.types("\x1b[Z")
		w.waitForText("mode: code")
		w.types("/set mode ask\r")
		w.waitForText("mode: ask")
	}
	w.types("\x1b[1;1R") // a report that nobody has asked for changes nothing
	w.right()
}

// stopAndGoOn stops the client and goes on with it.
func (w *worker) stopAndGoOn() {
	w.t.Helper()
	w.types("\x1a")
	// The screen behind the client's may have an earlier stop. What is typed before the shell reads is lost.
	w.waitFor("the shell's prompt", func(screen string) bool { return strings.HasSuffix(strings.TrimSpace(screen), "shell>") })
	w.types("fg\r")
	w.waitFor("the client's screen", func(screen string) bool { return strings.Contains(screen, "› ") })
}

// Three hundred things that people do, on terminals of many sizes, with stops and a kill: no cell is
// wrong, no byte that was allowed is missing and none that was refused is there, and the exit codes are
// right. The quick tier does thirty.
func TestHourOfWork(t *testing.T) {
	t.Parallel()
	interactions := 30
	if os.Getenv("PONTE_INTEROP_DEEP") == "1" {
		interactions = 300
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &worker{glass: shell(t), random: rand.New(rand.NewPCG(seed, 1)), made: map[string]string{}}
	w.pid = w.chat("")
	for w.done < interactions {
		w.interact()
		if w.done != interactions/2 {
			continue
		}
		w.types("/new\r")
		w.waitForText("A new conversation.")
		w.say("create before.txt with \"before the kill\"", "y")
		w.settled()
		if err := syscall.Kill(w.pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.waitForText("Killed")
		w.types("\x15stty sane; printf '\\033c'; clear\r")
		w.resize(80, 24)
		w.pid = w.chatWith("", "--continue")
		w.waitForText("before.txt")
		w.right()
	}
	w.types("\x15\x04")
	w.waitFor("the shell", func(screen string) bool { return strings.HasSuffix(strings.TrimSpace(screen), "shell>") })
	w.types("clear; echo code=$?; pwd\r")
	dir := w.waitForText("code=0")
	_, dir, _ = strings.Cut(dir, "code=0\n")
	dir = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(strings.ReplaceAll(dir, "\n", "")), "shell>"))
	found, err := filepath.Glob(filepath.Join(dir, "made-*.txt"))
	if err != nil || len(found) != len(w.made) {
		t.Errorf("%d files were made, want %d: %v", len(found), len(w.made), err)
	}
	for name, text := range w.made {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.TrimSuffix(string(data), "\n") != text {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
