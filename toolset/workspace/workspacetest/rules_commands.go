// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/toolset/workspace"
)

const hostIsWindows = runtime.GOOS == "windows"

func itoa(i int) string { return strconv.Itoa(i) }

// program returns a command that behaves as [Program] says.
func (p *probe) program(words ...string) []string {
	return append(append([]string{}, p.Program...), words...)
}

// start starts [Program] and closes it in the end.
func (p *probe) start(words ...string) workspace.Process {
	process, err := p.ws.Start(p.ctx, workspace.Command{Args: p.program(words...)})
	p.must(err, "start %v", words)
	return process
}

// finish waits for a command's end and returns its output.
func (p *probe) finish(process workspace.Process) (string, workspace.Exit) {
	exit, err := process.Wait(p.ctx)
	p.must(err, "wait")
	c, err := process.Output(p.ctx, 0, 0)
	p.must(err, "output")
	if c.Exit == nil {
		p.errorf("Output does not say how the command ended, after Wait has")
	} else {
		p.equal(*c.Exit, exit, "the exit that Output returns")
	}
	p.ok(process.Close(p.ctx), "close")
	return string(c.Data), exit
}

// until waits until a command has written a text.
func (p *probe) until(process workspace.Process, text string) workspace.Chunk {
	for {
		select {
		case <-time.After(time.Millisecond):
		case <-p.ctx.Done():
			p.stop("the command has not written %q", text)
		}
		c, err := process.Output(p.ctx, 0, 0)
		p.must(err, "output")
		if strings.Contains(string(c.Data), text) {
			return c
		}
	}
}

func commandRules() []rule {
	return []rule{
		{"a command runs to its end", needsCommands, func(p *probe) {
			out, exit := p.finish(p.start("print", "one", "print", "two words", "exit", "3"))
			p.equal(strings.ReplaceAll(out, "\r\n", "\n"), "one\ntwo words\n", "the output")
			p.equal(exit, workspace.Exit{Code: 3}, "the exit")
			_, exit = p.finish(p.start("exit", "0"))
			p.equal(exit, workspace.Exit{}, "the exit")
		}},
		{"output has standard error as well", needsCommands, func(p *probe) {
			out, _ := p.finish(p.start("print", "one", "error", "two", "print", "three"))
			for _, word := range []string{"one", "two", "three"} {
				p.equal(strings.Count(out, word), 1, "the number of %q in the output", word)
			}
		}},
		{"standard input is empty", needsCommands, func(p *probe) {
			out, _ := p.finish(p.start("stdin"))
			p.equal(strings.TrimSpace(out), "0 bytes", "what the command read")
		}},
		{"a command runs in its directory", func(f workspace.Features) bool { return f.Commands && f.Read }, func(p *probe) {
			p.put("f", "top")
			p.put("sub/f", "below")
			for dir, want := range sorted(map[string]string{"": "top", ".": "top", "sub": "below", p.root(0, "sub"): "below", "sub/../sub": "below"}) {
				process, err := p.ws.Start(p.ctx, workspace.Command{Args: p.program("cat", "f"), Dir: dir})
				p.must(err, "start in %q", dir)
				out, _ := p.finish(process)
				p.equal(strings.TrimSpace(out), want, "what the command found in %q", dir)
			}
			for dir, want := range sorted(map[string]error{"missing": fs.ErrNotExist, "f": workspace.ErrNotDirectory, "f/x": workspace.ErrNotDirectory}) {
				_, err := p.ws.Start(p.ctx, workspace.Command{Args: p.program("exit", "0"), Dir: dir})
				p.is(err, "start in %s", dir, want)
			}
		}},
		{"variables are added to the environment", needsCommands, func(p *probe) {
			process, err := p.ws.Start(p.ctx, workspace.Command{
				Args: p.program("env", "PONTE_A", "env", "PONTE_B"),
				Env:  []string{"PONTE_A=lost", "PONTE_B=b=c", "PONTE_A=a b"},
			})
			p.must(err, "start")
			out, _ := p.finish(process)
			p.equal(strings.Fields(out), strings.Fields("a b b=c"), "the variables")
		}},
		{"arguments arrive as they are", needsCommands, func(p *probe) {
			words := []string{`a"b`, `c'd`, "$HOME", "*", `e\f`, "", " ", "g;h|i&j", "%PATH%", "ü"}
			args := []string{}
			for _, w := range words {
				args = append(args, "print", "<"+w+">")
			}
			out, _ := p.finish(p.start(args...))
			p.equal(strings.ReplaceAll(out, "\r\n", "\n"), "<"+strings.Join(words, ">\n<")+">\n", "the arguments")
		}},
		{"a malformed command is ErrCommand", needsCommands, func(p *probe) {
			for _, c := range []workspace.Command{
				{}, {Line: " "}, {Args: []string{""}}, {Line: "a", Args: []string{"b"}}, {Line: "a\x00"}, {Args: []string{"a", "\x00"}}, {Line: "a", Env: []string{"x"}}, {Line: "a", Env: []string{"=x"}},
			} {
				process, err := p.ws.Start(p.ctx, c)
				p.is(err, "start %+v", c, workspace.ErrCommand)
				if err == nil {
					_ = process.Close(p.ctx)
				}
			}
			process, err := p.ws.Start(p.ctx, workspace.Command{Args: []string{"no-such-program-anywhere"}})
			p.is(err, "start %s", "a missing program", workspace.ErrNoProgram)
			if err == nil {
				_ = process.Close(p.ctx)
			}
		}},
		{"output is read from a position", needsCommands, func(p *probe) {
			process := p.start("raw", "0123456789", "wait")
			p.until(process, "9")
			for _, c := range []struct {
				from  int64
				limit int
				want  string
				at    int64
			}{
				{0, 0, "0123456789", 0}, {4, 0, "456789", 4}, {4, 3, "456", 4}, {10, 0, "", 10},
				{99, 0, "", 10}, {-3, 0, "789", 7}, {-3, 2, "78", 7}, {-99, 0, "0123456789", 0},
			} {
				got, err := process.Output(p.ctx, c.from, c.limit)
				p.ok(err, "output")
				p.equal(string(got.Data), c.want, "output from %d, limit %d", c.from, c.limit)
				p.equal(got.From, c.at, "From of output from %d", c.from)
				p.equal(got.End, int64(10), "End")
				p.equal(got.Lost, false, "Lost")
				p.equal(got.Exit == nil, true, "still running")
			}
			p.ok(process.Kill(p.ctx), "kill")
			_, err := process.Wait(p.ctx)
			p.ok(err, "wait")
			p.ok(process.Close(p.ctx), "close")
		}},
		{"long output keeps its end", needsCommands, func(p *probe) {
			const lines = 400_000 // 4 MB and more
			process := p.start("lines", itoa(lines))
			_, err := process.Wait(p.ctx)
			p.must(err, "wait")
			c, err := process.Output(p.ctx, -12, 0)
			p.ok(err, "output")
			p.equal(strings.TrimSpace(string(c.Data)), "line "+itoa(lines), "the end of the output")
			c, err = process.Output(p.ctx, 0, 0)
			p.ok(err, "output")
			p.equal(c.Lost, c.From > 0, "Lost")
			p.equal(c.From+int64(len(c.Data)), c.End, "the end")
			p.ok(process.Close(p.ctx), "close")
		}},
		{"Kill ends a command and keeps its output", needsCommands, func(p *probe) {
			process := p.start("print", "begun", "wait")
			p.until(process, "begun")
			p.ok(process.Kill(p.ctx), "kill")
			exit, err := process.Wait(p.ctx)
			p.must(err, "wait")
			if exit.Code == 0 && exit.Signal == "" {
				p.errorf("a killed command ended well")
			}
			p.ok(process.Kill(p.ctx), "kill again")
			out, _ := p.finish(process)
			p.equal(strings.TrimSpace(out), "begun", "the output")
			process = p.start("exit", "0")
			_, err = process.Wait(p.ctx)
			p.ok(err, "wait")
			p.ok(process.Kill(p.ctx), "kill what has ended")
			_, exit = p.finish(process)
			p.equal(exit, workspace.Exit{}, "the exit of what had ended")
		}},
		{"Wait ends with its context and not the command", needsCommands, func(p *probe) {
			process := p.start("print", "begun", "wait")
			cause := errors.New("the cause")
			ctx, cancel := context.WithCancelCause(p.ctx)
			waiting := make(chan error, 1)
			go func() {
				_, err := process.Wait(ctx)
				waiting <- err
			}()
			p.until(process, "begun")
			cancel(cause)
			p.is(<-waiting, "%s", "wait", cause)
			c, err := process.Output(p.ctx, 0, 0)
			p.ok(err, "output")
			p.equal(c.Exit == nil, true, "still running")
			p.ok(process.Close(p.ctx), "close")
		}},
		{"a command outlives the context of its start", needsCommands, func(p *probe) {
			ctx, cancel := context.WithCancel(p.ctx)
			process, err := p.ws.Start(ctx, workspace.Command{Args: p.program("print", "begun", "wait")})
			p.must(err, "start")
			cancel()
			p.until(process, "begun")
			c, err := process.Output(p.ctx, 0, 0)
			p.ok(err, "output")
			p.equal(c.Exit == nil, true, "still running")
			p.ok(process.Close(p.ctx), "close")
		}},
		{"Close ends a command and gives up its output", needsCommands, func(p *probe) {
			process := p.start("print", "begun", "wait")
			p.until(process, "begun")
			p.ok(process.Close(p.ctx), "close")
			p.ok(process.Close(p.ctx), "close again")
			_, err := process.Output(p.ctx, 0, 0)
			p.is(err, "%s", "output", workspace.ErrClosed)
			p.ok(process.Kill(p.ctx), "kill")
			exit, err := process.Wait(p.ctx)
			if !errors.Is(err, workspace.ErrClosed) && (err != nil || exit.Code == 0 && exit.Signal == "") {
				p.errorf("wait for a closed command: %+v, %v", exit, err)
			}
		}},
		{"processes are told apart", needsCommands, func(p *probe) {
			refs := map[string]bool{}
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					process, err := p.ws.Start(p.ctx, workspace.Command{Args: p.program("print", itoa(i))})
					if err != nil {
						mu.Lock()
						defer mu.Unlock()
						p.errorf("start: %w", err)
						return
					}
					_, _ = process.Wait(p.ctx)
					c, err := process.Output(p.ctx, 0, 0)
					_ = process.Close(p.ctx)
					mu.Lock()
					defer mu.Unlock()
					p.ok(err, "output")
					p.equal(strings.TrimSpace(string(c.Data)), itoa(i), "the output of %d", i)
					if refs[process.Ref()] || process.Ref() == "" {
						p.errorf("the reference %q is empty or not unique", process.Ref())
					}
					refs[process.Ref()] = true
				})
			}
			all.Wait()
		}},
	}
}
