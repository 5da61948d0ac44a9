// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/term/tty"
)

// teletype is a terminal that keeps what it is sent and tells where its cursor is.
type teletype struct {
	paper
	input   chan []byte
	resized chan struct{}
	once    sync.Once

	suspended atomic.Int32
}

func newTeletype() *teletype {
	return &teletype{input: make(chan []byte, 1000), resized: make(chan struct{}, 1)}
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*[mK]`)

var askedForCursor = regexp.MustCompile(`\x1b\[(\d+;\d+)H\x1b\[6n`)

func (t *teletype) Write(p []byte) (int, error) {
	n, err := t.paper.Write(p)
	for _, m := range askedForCursor.FindAllSubmatch(p, -1) {
		t.input <- []byte("\x1b[" + string(m[1]) + "R")
	}
	return n, err
}

func (t *teletype) Size() (width, height int) { return 80, 24 }
func (t *teletype) Input() <-chan []byte      { return t.input }
func (t *teletype) Resized() <-chan struct{}  { return t.resized }
func (t *teletype) Suspend() error            { t.suspended.Add(1); return nil }
func (t *teletype) Lend(f func() error) error { return f() }
func (t *teletype) Close() error              { t.once.Do(func() { _, _ = t.Write([]byte(tty.End)) }); return nil }
func (t *teletype) types(keys ...string) {
	for _, k := range keys {
		t.input <- []byte(k)
	}
}

// mark returns how much has been shown so far.
func (t *teletype) mark() int { return len(t.String()) }

// waitAfter waits for text that is shown after a mark.
func (t *teletype) waitAfter(test *testing.T, mark int, text string) {
	test.Helper()
	require.Eventually(test, func() bool { return strings.Contains(t.String()[mark:], text) }, time.Minute, 2*time.Millisecond, "waiting for %q", text)
}

// drawn matches what the painter sends for a row, and for an empty screen.
var drawn = regexp.MustCompile("\x1b\\[2J|\x1b\\[(\\d+);1H\x1b\\[2K((?:[^\x1b]|\x1b\\[[0-9;]*m)*)")

// now returns what the screen shows after the last whole frame.
func (t *teletype) now() string {
	sent := t.String()
	sent = sent[:strings.LastIndex(sent, "\x1b[?2026l")+1]
	rows := make([]string, 200)
	for _, m := range drawn.FindAllStringSubmatch(sent, -1) {
		if row, err := strconv.Atoi(m[1]); err == nil {
			rows[row] = sgr.ReplaceAllString(m[2], "")
		} else {
			clear(rows)
		}
	}
	return strings.Join(rows, "\n")
}

// waitNow waits until the screen shows each of texts as often as it is given.
func (t *teletype) waitNow(test *testing.T, texts ...string) {
	test.Helper()
	often := map[string]int{}
	for _, text := range texts {
		often[text]++
	}
	require.Eventually(test, func() bool {
		shown := t.now()
		for text, n := range often {
			if strings.Count(shown, text) != n {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond, "waiting for %q", texts)
}

// idle is shown when nothing has been typed and no turn runs.
const idle = "What should be done? /help"

// leaves ends the conversation when no turn runs.
func (t *teletype) leaves(test *testing.T, wait func() int) {
	test.Helper()
	t.waitNow(test, idle)
	t.types("\x04")
	require.Equal(test, chat.ExitOK, wait())
}

func (p *person) sitDown() *teletype {
	t := newTeletype()
	p.Terminal = func() (tty.Terminal, error) { return t, nil }
	return t
}

// answer presses a key until the question is gone: right after it was opened, a key is no answer.
func (t *teletype) answer(test *testing.T, key, until string) {
	test.Helper()
	require.Eventually(test, func() bool {
		if strings.Contains(t.String(), until) {
			return true
		}
		t.types(key)
		return false
	}, time.Minute, 400*time.Millisecond)
}

func TestConversationOnAScreen(t *testing.T) {
	p := newPerson(t)
	p.History = filepath.Join(t.TempDir(), "history")
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "old.txt"), nil, 0o600))
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	small := screen.mark()
	screen.resized <- struct{}{}
	screen.waitAfter(t, small, "Talking to fake.") // all of it is drawn again
	screen.types("permission a.txt; run echo $GREETING", "\r")
	screen.waitFor(t, "Allow once")
	require.Contains(t, screen.String(), `{"path":"a.txt"}`)
	screen.answer(t, "y", "[chosen: once]")
	screen.waitFor(t, "The agent has not asked about this.")
	require.Contains(t, screen.String(), "GREETING=hi")
	screen.answer(t, "y", "[exit 0: hi]")
	screen.waitFor(t, "exit code 0")
	require.Empty(t, p.errors.String())
	screen.types("\x15", "stop refusal", "\r") // what was pressed after the answer is in the input
	screen.waitFor(t, "the agent refuses to answer that")
	mark := screen.mark()
	screen.leaves(t, wait)
	require.Contains(t, screen.String()[mark:], tty.End)
	require.Contains(t, sgr.ReplaceAllString(p.out.String(), ""), "› stop refusal", "what was said stays behind")
	history, err := os.ReadFile(p.History)
	require.NoError(t, err)
	require.Equal(t, "\"permission a.txt; run echo $GREETING\"\n\"stop refusal\"\n", string(history))
}

// With -yes nothing is asked, and what the agent does is shown. Conversations are listed.
func TestAllIsAllowedOnAScreen(t *testing.T) {
	p := newPerson(t)
	p.AllowAll = true
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("/sessions", "\r")
	screen.waitFor(t, "an old")
	screen.types("write new.txt", "\r")
	screen.waitFor(t, "+written") // the change
	screen.leaves(t, wait)
	require.FileExists(t, filepath.Join(p.Dir, "new.txt"))
}

func TestPromptOnAScreen(t *testing.T) {
	for key, want := range map[string]struct {
		said string
		code int
	}{"y": {"[chosen: once]", chat.ExitOK}, "n": {"[chosen: no]", chat.ExitRefused}} {
		p := newPerson(t)
		p.Prompt = "permission a.txt; say bye"
		screen := p.sitDown()
		wait := p.start(t)
		screen.waitFor(t, "Allow once")
		screen.answer(t, key, tty.End)
		require.Equal(t, want.code, wait())
		require.Contains(t, p.out.String(), want.said)
		require.Contains(t, p.out.String(), "[bye]")
	}
}

func TestCtrlCOnAScreen(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("permission a.txt; hang", "\r")
	screen.waitFor(t, "Allow once")
	screen.types("\x03")
	screen.waitFor(t, "Cancelled.")
	screen.types("say still here", "\r")
	screen.waitFor(t, "[still here]")
	p.interrupt <- struct{}{} // one that is sent as a signal
	screen.waitFor(t, "Press Ctrl-C again to leave")
	screen.types("\x03")
	require.Equal(t, chat.ExitOK, wait())

	p = newPerson(t)
	p.Prompt = "say begun; hang"
	screen = p.sitDown()
	wait = p.start(t)
	screen.waitFor(t, "[begun]")
	screen.types("\x03")
	require.Equal(t, chat.ExitInterrupted, wait())
}

func TestScreenEndsWithItsAgentAndItsTerminal(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("die the disk is on fire", "\r")
	require.Equal(t, chat.ExitError, wait())
	require.Contains(t, p.errors.String(), "its last words: the disk is on fire")
	require.Contains(t, screen.String(), tty.End)

	p = newPerson(t)
	screen = p.sitDown()
	wait = p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("hang", "\r")
	close(screen.input)
	require.Equal(t, chat.ExitInterrupted, wait())
}

// Keys are handled while an agent floods the screen with ten megabytes.
func TestFloodDoesNotStallTheScreen(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("gush", "\r")
	screen.waitFor(t, "word word")
	typed := 0
	for !strings.Contains(screen.String(), "[gushed]") {
		mark := screen.mark()
		screen.types("x")
		screen.waitAfter(t, mark, strings.Repeat("x", typed%20+1))
		if typed++; typed%20 == 0 {
			screen.types("\x15")
		}
	}
	t.Logf("%d keys were shown meanwhile, %d bytes written", typed, screen.mark())
	require.Less(t, screen.mark(), 4<<20, "frames, and not everything that was said")
	screen.types("\x15")
	screen.leaves(t, wait)
}

func TestFilesAreSentAsLinks(t *testing.T) {
	p := newPerson(t)
	require.NoError(t, os.MkdirAll(filepath.Join(p.Dir, "sub", ".git"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "sub", "main.go"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "sub", ".git", "main.go"), nil, 0o600))
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("links @main")
	screen.waitFor(t, "@sub/main.go")
	require.NotContains(t, screen.String(), ".git/main.go")
	screen.types("\t", "\r")
	screen.waitFor(t, "main.go file://")
	screen.leaves(t, wait)
	require.Contains(t, strings.ReplaceAll(p.out.String(), "\n", ""), "/sub/main.go]")
}

func TestLogin(t *testing.T) {
	for _, c := range []struct {
		name, prompt, input, says string
		person, screen            bool
		code                      int
	}{
		{"chosen", "say hello", "2\n", "[hello]", true, false, chat.ExitOK},
		{"chosen, then a screen", "say hello", "2\n", "[hello]", true, true, chat.ExitOK},
		{"chosen, then prompts", "", "2\nsay hello\n", "[hello]", true, false, chat.ExitOK},
		{"chosen at the end", "say hello", "2", "[hello]", true, false, chat.ExitOK},
		{"fails", "say hello", "1\n", "no key", true, false, chat.ExitError},
		{"left", "say hello", "\n", "not logged in", true, false, chat.ExitError},
		{"none of them", "say hello", "3\n", "not logged in", true, false, chat.ExitError},
		{"before them", "say hello", "0\n", "not logged in", true, false, chat.ExitError},
		{"cannot be read", "say hello", "2", "on fire", true, false, chat.ExitError},
		{"nobody there", "say hello", "2\n", "authenticate with one of: key, web", false, false, chat.ExitError},
	} {
		p := newPerson(t)
		p.Agent.Args = append(p.Agent.Args, "locked")
		p.Prompt, p.Person, p.In = c.prompt, c.person, strings.NewReader(c.input)
		if c.name == "cannot be read" {
			p.In = io.MultiReader(p.In, iotest.ErrReader(errors.New("the disk is on fire")))
		}
		if c.screen {
			p.sitDown()
		}
		require.Equal(t, c.code, p.start(t)(), c.name)
		require.Contains(t, p.out.String()+p.errors.String(), c.says, c.name)
		if c.person {
			require.Contains(t, p.out.String(), "  1  API key\n  2  Web⟨ESC⟩[31m\n     opens a browser\n", c.name)
		}
	}
}

func TestCommandsOfThePerson(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("!echo a$((40+2))z", "\r")
	screen.waitFor(t, "a42z")
	screen.types("!exit 3", "\r")
	screen.waitFor(t, "exit code 3")
	screen.types("/copy", "\r")
	screen.waitFor(t, "There is no answer yet.")
	screen.types("say something to copy", "\r")
	screen.waitFor(t, "something to copy")
	require.Eventually(t, func() bool {
		screen.types("/copy", "\r")
		time.Sleep(20 * time.Millisecond)
		return strings.Contains(screen.String(), "\x1b]52;c;")
	}, time.Minute, 50*time.Millisecond)
	screen.waitFor(t, "The last answer is copied")
	screen.types("/copy code", "\r")
	screen.waitFor(t, "The last answer has no block of code.")
	screen.leaves(t, wait)
}
