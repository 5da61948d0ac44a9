// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

var updateScreens = flag.Bool("update-screens", false, "write the golden screens of the terminal client anew")

// glass is a terminal with a program in it: an emulator at the other end of a pseudo-terminal.
type glass struct {
	t     *testing.T
	cmd   *exec.Cmd
	file  *os.File
	ended chan struct{}

	patience time.Duration // with what is waited for

	mu       sync.Mutex
	emulator *vt.Emulator
	rows     int
	bytes    bytes.Buffer // all that was written
}

func startInTerminal(t *testing.T, columns, rows int, args ...string) *glass {
	g := &glass{t: t, cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{}), patience: patience, emulator: vt.NewEmulator(columns, rows), rows: rows}
	g.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(), "OLLAMA_HOST=127.0.0.1:1", "NO_COLOR=")
	var err error
	if g.file, err = pty.StartWithSize(g.cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(g.ended)
		buf := make([]byte, 32<<10)
		for {
			n, err := g.file.Read(buf)
			g.mu.Lock()
			_, _ = g.emulator.Write(buf[:n])
			g.bytes.Write(buf[:n])
			g.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	answered := make(chan struct{})
	go func() { // what the terminal answers
		defer close(answered)
		buf := make([]byte, 1024)
		for {
			n, err := g.emulator.Read(buf)
			if n > 0 {
				_, _ = g.file.Write(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill()
		_ = g.file.Close()
		<-g.ended
		_ = g.emulator.InputPipe().(io.Closer).Close() // Emulator.Close is not for use beside Read
		<-answered
		_ = g.emulator.Close()
	})
	return g
}

func (g *glass) types(s string) {
	if _, err := g.file.Write([]byte(s)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *glass) resize(columns, rows int) {
	g.mu.Lock()
	g.emulator.Resize(columns, rows)
	g.rows = rows
	g.mu.Unlock()
	if err := pty.Setsize(g.file, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		g.t.Fatal(err)
	}
}

var varies = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+s `), "* 0s "},
	{regexp.MustCompile(` +(auto · |ask · |offline · )*context: .*`), ""}, // it counts the tokens of a path
}

// screen returns what the terminal shows, without what varies.
func (g *glass) screen() string {
	g.mu.Lock()
	text := g.emulator.String()
	g.mu.Unlock()
	for _, v := range varies {
		text = v.what.ReplaceAllString(text, v.by)
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// waitFor waits until the screen is as it should be.
func (g *glass) waitFor(what string, ok func(screen string) bool) string {
	g.t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		screen := g.screen()
		if ok(screen) {
			return screen
		}
		if time.Since(begin) > g.patience {
			g.t.Fatalf("waiting for %s; the screen:\n%s", what, screen)
		}
	}
}

func (g *glass) waitForText(text string) string {
	g.t.Helper()
	return g.waitFor(text, func(screen string) bool { return strings.Contains(screen, text) })
}

// answer presses a key until the question is another one: right after it was drawn, a key is no answer.
func (g *glass) answer(key, gone string) {
	g.t.Helper()
	next := time.Time{}
	g.waitFor("an answer to "+gone, func(screen string) bool {
		if !strings.Contains(screen, gone) {
			return true
		}
		if now := time.Now(); now.After(next) {
			g.types(key)
			next = now.Add(500 * time.Millisecond)
		}
		return false
	})
}

// The terminal client on terminals of four widths, as an emulator shows it, with wide characters, and with a resize in the middle.
func TestTerminalClientScreens(t *testing.T) {
	for _, columns := range []int{60, 80, 100, 200} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "project")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "demo"))); err != nil {
				t.Fatal(err)
			}
			g := startInTerminal(t, columns, 24, binary, "chat", "-model", "offline", "-dir", dir)
			golden := &goldenScreens{t: t, g: g, file: filepath.Join("testdata", "screens-"+strconv.Itoa(columns)+".golden")}
			golden.read()
			g.waitForText("What should be done?")
			g.types("\x1b[200~replace \"+ 23\" with \"+ 32\" in temperature.go, create 気温.md with \"東京の気温は二十一度です。\"\x1b[201~")
			golden.check("input", "二十一度")
			g.types("\ryyyyyyyy") // the rest is typed ahead: it answers nothing
			g.waitForText("━━ Question")
			golden.check("question", "+    return Fahrenheit(c*9/5 + 32)")
			untouched, err := os.ReadFile(filepath.Join(dir, "temperature.go"))
			if err != nil || !strings.Contains(string(untouched), "+ 23") {
				t.Fatalf("what was typed ahead has answered: %v", err)
			}
			g.resize(columns-13, 20)
			golden.check("resized", "┃ y ")
			g.answer("y", "┃ Edit temperature.go")
			g.waitForText("┃ +東京")
			golden.check("second question", "y  Allow once")
			g.answer("n", "┃ +東京")
			g.waitForText("ideagent in project")
			g.types("\x15")
			golden.check("end", "What should be done?")
			g.resize(columns, 24)
			golden.check("wider", "What should be done?")
			g.types("\x04")
			if err := g.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			<-g.ended
			if *updateScreens {
				golden.write()
			}
			mended, err := os.ReadFile(filepath.Join(dir, "temperature.go"))
			if err != nil || !strings.Contains(string(mended), "+ 32") {
				t.Fatalf("the answer did nothing: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "気温.md")); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("what was rejected was written: %v", err)
			}
			if left := g.screen(); !strings.Contains(left, "Replaced + 23 with + 32") {
				t.Fatalf("nothing is left behind on the terminal:\n%s", left)
			}
		})
	}
}

// The smallest terminal shows the keys of a question, and an answer counts.
func TestTerminalClientOnTheSmallestScreen(t *testing.T) {
	t.Parallel()
	dir := demo(t)
	g := startInTerminal(t, 20, 5, binary, "chat", "-model", "offline", "-dir", dir)
	golden := &goldenScreens{t: t, g: g, file: filepath.Join("testdata", "screens-20.golden")}
	golden.read()
	golden.check("begin", "What should be")
	g.types("create a.txt with \"hello\"\r")
	golden.check("question", "y a")
	g.types("\x1b[6~")
	golden.check("scrolled", "y a")
	g.answer("y", "━━ Question")
	golden.check("end", "ideagent in project")
	g.types("\x15")
	g.leave()
	if *updateScreens {
		golden.write()
	}
	if made, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || !strings.HasPrefix(string(made), "hello") {
		t.Fatalf("the answer did nothing: %q %v", made, err)
	}
}

// goldenScreens are the screens of a file, in their order.
type goldenScreens struct {
	t    *testing.T
	g    *glass
	file string
	want map[string]string
	got  strings.Builder
}

func (s *goldenScreens) read() {
	s.want = map[string]string{}
	data, err := os.ReadFile(s.file)
	if err != nil && !*updateScreens {
		s.t.Fatal(err)
	}
	for _, part := range strings.Split(string(data), "=== ")[1:] {
		name, screen, _ := strings.Cut(part, "\n")
		s.want[name] = screen
	}
}

// check waits until the screen is the golden one. text is on it in any case.
func (s *goldenScreens) check(name, text string) {
	s.t.Helper()
	if !*updateScreens {
		s.g.waitFor(name+" of "+s.file+":\n"+s.want[name], func(screen string) bool { return screen == s.want[name] })
		return
	}
	last, since := "", time.Now()
	screen := s.g.waitFor(name, func(screen string) bool {
		if screen != last {
			last, since = screen, time.Now()
		}
		return strings.Contains(screen, text) && time.Since(since) > time.Second
	})
	s.got.WriteString("=== " + name + "\n" + screen)
}

func (s *goldenScreens) write() {
	if err := os.WriteFile(s.file, []byte(s.got.String()), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// While an agent with a long command starts, one line says so.
func TestStartOfAnAgentTakesOneLine(t *testing.T) {
	t.Parallel()
	g := startInTerminal(t, 40, 10, binary, "chat", "-agent", "sh -c 'sleep 2' "+strings.Repeat("long ", 30), "-dir", demo(t))
	g.waitForText("* 0s Starting")
	time.Sleep(500 * time.Millisecond)
	if screen := g.screen(); strings.Count(screen, "Starting") != 1 {
		t.Errorf("the screen:\n%s", screen)
	}
	_ = g.cmd.Wait()
}
