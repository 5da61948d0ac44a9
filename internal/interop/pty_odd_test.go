// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A session is stopped and continued while a question is asked: the question is still there, and its
// answer counts.
func TestQuestionOutlivesAStop(t *testing.T) {
	t.Parallel()
	g := shell(t)
	g.chat("")
	g.types("create stopped.txt with \"e\u0301 👩‍👩‍👧 気温 done\"\r")
	g.waitForText("━━ Question")
	g.types("\x1a")
	g.waitForText("Stopped")
	g.usable("asked")
	g.types("fg\r")
	g.waitForText("━━ Question")
	g.answer("y", "━━ Question")
	g.idle()
	g.types("\x15\x04")
	g.usable("end")
	g.types("cat stopped.txt; rm stopped.txt\r")
	g.waitForText("気温")
}

// The window changes while text arrives: at the end the screen is what it is when it is drawn again.
func TestResizeWhileTextArrives(t *testing.T) {
	t.Parallel()
	w := &worker{glass: shell(t)}
	w.pid = w.chatWith("", "-pace 2ms")
	w.types("help\r")
	w.waitForText("I am the offline demo model")
	for i := range 25 {
		w.resize(20+(i*37)%120, 5+(i*11)%40)
		time.Sleep(5 * time.Millisecond)
	}
	w.resize(80, 24)
	w.right()
	w.types("\x04")
	w.usable("end")
}

// A megabyte is pasted, with lines that end as in DOS: the program stays quick to use, and nothing is sent.
func TestMegabyteIsPasted(t *testing.T) {
	t.Parallel()
	dir := demo(t)
	g := startInTerminal(t, 80, 24, binary, "chat", "-model", "offline", "-dir", dir)
	g.waitForText("What should be done?")
	begin := time.Now()
	line := strings.Repeat("0123456789 e\u0301 気温\t", 5) + "\r\n"
	g.types("\x1b[200~" + strings.Repeat(line, (1<<20)/len(line)) + "the end\x1b[201~")
	g.waitForText("the end")
	t.Logf("a megabyte is on the screen after %v", time.Since(begin))
	g.types("!")
	g.waitForText("the end!")
	if screen := g.screen(); strings.Contains(screen, "I am the offline") || !strings.Contains(screen, "気温") {
		t.Fatalf("the screen:\n%s", screen)
	}
	g.types("\x15\x03")
	g.waitForText("What should be done?")
	g.types("help\r")
	g.idle()
	g.leave()
}

// A window of one cell shows nothing and breaks nothing.
func TestWindowOfOneCell(t *testing.T) {
	t.Parallel()
	dir := demo(t)
	g := startInTerminal(t, 1, 1, binary, "chat", "-model", "offline", "-dir", dir)
	g.waitFor("a screen", func(string) bool { return strings.Contains(g.wrote(), "\x1b[?1049h") })
	g.types("create a.txt with \"hello\"\r")
	time.Sleep(300 * time.Millisecond) // whatever it draws meanwhile
	g.resize(80, 24)
	g.waitForText("━━ Question")
	g.resize(1, 1)
	time.Sleep(100 * time.Millisecond)
	g.resize(60, 10)
	g.waitForText("━━ Question")
	g.answer("y", "━━ Question")
	g.waitFor("the file", func(string) bool {
		made, err := os.ReadFile(filepath.Join(dir, "a.txt"))
		return err == nil && strings.HasPrefix(string(made), "hello")
	})
	g.idle()
	g.types("\x15")
	g.leave()
}

// idle waits until the agent has answered.
func (g *glass) idle() {
	g.t.Helper()
	last, since := "", time.Now()
	g.waitFor("the end of the turn", func(screen string) bool {
		if screen != last {
			last, since = screen, time.Now()
		}
		return !strings.Contains(screen, " · Ctrl-C cancels") && time.Since(since) > 300*time.Millisecond
	})
}

// wrote returns the bytes that the program wrote.
func (g *glass) wrote() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bytes.String()
}

// Terminals that can do little, or are asked for little, get no more than that.
func TestTerminalsThatCanDoLittle(t *testing.T) {
	colours := regexp.MustCompile(`\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m`)
	for _, c := range []struct {
		environment string
		screen      bool
		never       *regexp.Regexp
	}{
		{"TERM=dumb", false, regexp.MustCompile("\x1b")},
		{"NO_COLOR=1", true, colours},
		{"LC_ALL=C LANG=C NO_COLOR=1", true, colours},
	} {
		t.Run(c.environment, func(t *testing.T) {
			t.Parallel()
			dir := demo(t)
			g := startInTerminal(t, 80, 24, "sh", "-c", fmt.Sprintf("%s exec %s chat -model offline -dir %s", c.environment, binary, shellWord(dir)))
			g.waitForText("›")
			g.types("read go.mod\r")
			g.waitForText("module ")
			g.idle()
			g.types("\x04")
			if err := g.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			<-g.ended
			wrote := g.wrote()
			if found := c.never.FindString(wrote); found != "" {
				t.Errorf("it wrote %q", found)
			}
			if got := strings.Contains(wrote, "\x1b[?1049h"); got != c.screen {
				t.Errorf("a screen: %v", got)
			}
		})
	}
}
