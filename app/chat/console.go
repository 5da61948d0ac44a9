// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/edit"
	"github.com/ponte-go/ponte/app/internal/term/input"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/app/internal/term/tty"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// console is a conversation on a screen. One goroutine has the model; others send it functions.
type console struct {
	config  *Config
	files   *local.Workspace
	client  *acpclient.Client
	session *acpclient.Session
	tty     tty.Terminal
	model   *screen.Model
	painter tty.Painter
	keys    input.Parser

	calls    chan func()   // to be called by the loop
	changed  chan struct{} // something of the session has
	unfollow func()        // ends that
	over     chan struct{}
	work     sync.WaitGroup

	dropped  map[string]string // paths of files, by what stands for them in the input
	pictures string            // a directory of this program's, empty if there is none

	asked   int
	answers map[int]chan acp.PermissionOptionID
	lines   map[int]chan string // for fields of forms
	filling sync.Mutex
	refused bool
	running bool          // a turn
	sent    chan struct{} // closed when the agent has what was sent last; nil before
	shown   *view.Snapshot
	err     error
	quit    bool
}

// Bounds of the loop.
const (
	frameEvery = 33 * time.Millisecond
	tickEvery  = 100 * time.Millisecond
	escapeWait = 40 * time.Millisecond // for what an Esc may begin
)

// runConsole holds the conversation on a terminal.
func runConsole(ctx context.Context, config *Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	files, err := local.Open(config.files())
	if err != nil {
		return err
	}
	defer files.Close()
	if why := files.Unsandboxed(); why != nil {
		fmt.Fprintf(config.Err, "%s: commands run without the sandbox: %s\n", config.Program, explain(why))
	}
	c := &console{
		config: config, files: files, dropped: map[string]string{},
		calls: make(chan func(), 16), changed: make(chan struct{}, 1), over: make(chan struct{}),
		answers: map[int]chan acp.PermissionOptionID{}, lines: map[int]chan string{},
	}
	stop := waiting(config.Out, "Starting "+text.OneLine(config.Agent.String()))
	opening := &talk{config: config}
	err = opening.interruptible(ctx, func(ctx context.Context) error {
		var err error
		base := acpclient.Config{Workspace: careful{files}, Permission: c.permission}
		base.Elicitation, base.Trusted = c.elicit, config.Own
		base.Turns = config.Prompt == "" // else only one
		c.client, c.session, err = connect(ctx, config, base, func(note string) {
			select {
			case c.calls <- func() { c.model.Note(note, render.Dim) }:
			case <-c.over:
			default: // nobody listens yet, or too much of it
			}
		})
		return err
	})
	stop()
	if err != nil {
		return err
	}
	defer c.client.Close()
	defer c.removePictures()
	defer func() {
		cancel(nil)
		close(c.over)
		c.work.Wait()
	}()
	if c.tty, err = config.Terminal(); err != nil {
		return err
	}
	defer func() { // also when something panics
		_ = c.tty.Close()
	}()
	err = c.loop(ctx)
	_ = c.tty.Close()
	width, _ := c.tty.Size()
	left := bufio.NewWriter(config.Out)
	for _, l := range c.model.Transcript(width) { // in the scrollback of the terminal
		fmt.Fprintln(left, l.ANSI(config.Color))
	}
	return errors.Join(err, left.Flush())
}

func random(n int) int {
	v, err := rand.Int(rand.Reader, big.NewInt(int64(max(n, 1))))
	if err != nil {
		panic(err) // never; without it nothing here can be trusted
	}
	return int(v.Int64())
}

// loop shows the conversation and handles what is typed until its end.
func (c *console) loop(ctx context.Context) error {
	name := "agent"
	if info := c.client.Agent().AgentInfo; info != nil {
		name = info.Name
	}
	history := &edit.History{}
	if c.config.History != "" {
		history = edit.OpenHistory(c.config.History)
	}
	c.model = screen.New(screen.Config{
		Agent: name, Dir: c.config.Dir, Once: c.config.Prompt != "", History: history, Rand: random, Code: plain.Code,
		Dropped: c.drop, Queues: c.client.Queues(),
	})
	c.painter = tty.Painter{Out: c.tty, Color: c.config.Color}
	c.model.Resize(c.tty.Size())
	if c.config.Prompt == "" {
		c.model.Note("Talking to "+name+". Enter sends, /help lists keys, Ctrl-D leaves.", render.Dim)
	}
	defer func() { c.unfollow() }()
	c.follow(ctx)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	escape := time.NewTimer(time.Hour)
	defer escape.Stop()
	var drawn time.Time
	dirty, waits := true, false
	if c.config.Prompt != "" {
		c.send(ctx, c.config.Prompt)
	}
	for !c.quit {
		if now := time.Now(); dirty && (!waits || now.Sub(drawn) >= frameEvery) {
			width, height := c.tty.Size()
			c.model.Resize(width, height)
			c.model.Tick(now)
			if err := c.painter.Paint(c.model.Frame(), width, height); err != nil {
				return fmt.Errorf("the terminal is gone: %w", err)
			}
			dirty, waits, drawn = false, false, time.Now()
			if c.model.Bell() {
				_, _ = c.tty.Write([]byte("\a"))
			}
		}
		select {
		case data, ok := <-c.tty.Input():
			if !ok {
				return errQuit
			}
			c.model.Input(time.Now(), c.keys.Feed(data))
			if c.keys.Waiting() {
				escape.Reset(escapeWait)
			}
			dirty, waits = true, false
		case <-escape.C:
			c.model.Input(time.Now(), c.keys.Flush())
			dirty, waits = true, false
		case <-c.changed:
			c.catchUp()
			waits, dirty = !dirty || waits, true
		case f := <-c.calls:
			f()
			dirty, waits = true, false
		case <-c.tty.Resized():
			c.painter.Forget()
			dirty, waits = true, false
		case now := <-tick.C:
			if c.model.Tick(now) || dirty {
				dirty, waits = true, false
			}
		case <-c.config.Interrupts:
			c.model.Interrupt(time.Now())
			dirty, waits = true, false
		case <-c.client.Done():
			if err := c.client.Err(); !c.quit {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		c.effects(ctx)
	}
	if c.running && c.err == nil {
		c.err = errQuit
	}
	return c.err
}

// effects does what the model wants done.
func (c *console) effects(ctx context.Context) {
	for _, e := range c.model.Effects() {
		switch e.Do {
		case screen.Send:
			c.send(ctx, e.Text)
		case screen.Cancel:
			session := c.session
			c.work.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				_ = session.Cancel(ctx) // if the agent is gone, the loop is told
			})
		case screen.Quit:
			c.quit = true
		case screen.Answer:
			if answer := c.answers[e.Question]; answer != nil {
				delete(c.answers, e.Question)
				answer <- acp.PermissionOptionID(e.Option)
			}
		case screen.AnswerLine:
			if answer := c.lines[e.Question]; answer != nil {
				delete(c.lines, e.Question)
				answer <- e.Text
			}
		case screen.ListFiles:
			c.work.Go(func() {
				files := list(ctx, c.files)
				c.call(func() { c.model.SetFiles(files) })
			})
		case screen.Set:
			session := c.session
			c.work.Go(func() { c.set(ctx, session, e.Text) })
		case screen.NewSession:
			c.work.Go(func() { c.open(ctx, "") })
		case screen.ListSessions:
			now := c.session.ID()
			c.work.Go(func() { c.listSessions(ctx, now) })
		case screen.Shell:
			c.work.Go(func() { c.shell(ctx, e.Text) })
		case screen.Copy:
			c.copy(e.Text == "code")
		case screen.Suspend:
			c.suspend()
		case screen.Edit:
			c.edit(ctx, e.Text)
		case screen.Picture:
			c.work.Go(func() { c.picture(ctx) })
		case screen.Steer:
			c.steer(ctx, e.Text)
		case screen.Command:
			session := c.session
			c.work.Go(func() { c.command(ctx, session, e.Text) })
		case screen.LoadSession:
			c.work.Go(func() { c.open(ctx, acp.SessionID(e.Text)) })
		}
	}
}

// call has the loop call f, as long as there is one.
func (c *console) call(f func()) {
	select {
	case c.calls <- f:
	case <-c.over:
	}
}

// suspend stops the program as a shell's jobs are.
func (c *console) suspend() {
	if err := c.tty.Suspend(); err != nil {
		c.err, c.quit = fmt.Errorf("the terminal is gone: %w", err), true
	}
	c.painter.Forget()
}

// send sends a prompt, with the files that it names.
func (c *console) send(ctx context.Context, prompt string) {
	if c.client.Queues() {
		c.queue(ctx, prompt)
		return
	}
	c.begin()
	session, named := c.session, c.named(prompt)
	c.work.Go(func() {
		turn, err := (*acpclient.Turn)(nil), error(nil)
		if blocks, failed := blocks(prompt, named, c.pictured()); failed != nil {
			err = failed
		} else {
			turn, err = session.Prompt(ctx, blocks...)
		}
		c.call(func() { c.end(turn, err) })
	})
}

// begin takes the beginning of a turn.
func (c *console) begin() {
	c.model.Begin(time.Now())
	c.running = true
}

// catchUp shows everything that has not been shown.
func (c *console) catchUp() {
	if u, err := c.session.Cursor(c.shown).Update(ended); err == nil {
		c.shown = u.Snapshot
		c.model.Update(time.Now(), u.Changes)
	}
}

// end takes the end of a turn.
func (c *console) end(turn *acpclient.Turn, err error) {
	c.catchUp()
	c.running = false
	problem := ""
	switch {
	case err != nil:
		problem = explain(err)
	case turn.StopReason == acp.StopReasonCancelled:
		problem, err = "Cancelled.", errQuit
	case turn.StopReason != acp.StopReasonEndTurn:
		problem = Stopped(turn.StopReason)
		err = errors.New(problem)
	case c.refused:
		err = errRefused
	}
	c.refused = false
	if c.config.Prompt != "" {
		c.err = err
	}
	c.model.End(time.Now(), problem)
}

// command has the agent carry out a command that needs no turn.
func (c *console) command(ctx context.Context, session *acpclient.Session, line string) {
	said, err := session.Command(ctx, line)
	c.call(func() {
		if err != nil {
			c.model.Note("! "+explain(err), text.Style{Color: text.Yellow})
			return
		}
		c.model.Told(said)
	})
}

// set sets an option of the session: "ID VALUE".
func (c *console) set(ctx context.Context, session *acpclient.Session, line string) {
	id, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	err := session.SetOption(ctx, acp.SessionConfigID(id), value)
	if err != nil && id == "mode" {
		err = session.SetMode(ctx, acp.SessionModeID(value))
	}
	c.call(func() {
		if err != nil {
			c.model.Note("! "+explain(err), text.Style{Color: text.Yellow})
			return
		}
		c.model.Note(id+": "+value, render.Dim)
	})
}
