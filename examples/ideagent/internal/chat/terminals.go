// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/examples/ideagent/internal/terminal"
	"github.com/ponte-go/ponte/internal/guard"
)

// maxTerminals is how many terminals an agent may have at a time.
const maxTerminals = 64

// terminals are the agent's terminals on the user's machine.
type terminals struct {
	dir    string
	screen *screen

	mu     sync.Mutex
	last   int
	byID   map[acp.TerminalID]*shownTerminal
	closed bool
}

// shownTerminal is a terminal whose output is shown.
type shownTerminal struct {
	*terminal.Terminal
	view *terminalView
}

func (t *terminals) create(r *acp.CreateTerminalRequest) (acp.TerminalID, error) {
	o := terminal.Options{Command: r.Command, Args: r.Args, Dir: t.dir, Limit: -1}
	if r.Cwd != nil {
		o.Dir = *r.Cwd
	}
	for _, v := range r.Env {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
			return "", acp.Errorf(acp.CodeInvalidParams, "%q is no name of an environment variable", v.Name)
		}
		o.Env = append(o.Env, v.Name+"="+v.Value)
	}
	if r.OutputByteLimit != nil {
		o.Limit = int(min(*r.OutputByteLimit, 64<<20))
	}
	view := t.screen.terminal()
	o.Watch = view.write

	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return "", acp.Errorf(acp.CodeInternal, "the client is about to end")
	case len(t.byID) >= maxTerminals:
		return "", acp.Errorf(acp.CodeInternal, "there are %d terminals already; release some", maxTerminals)
	}
	started, err := terminal.Start(o)
	if err != nil {
		code := acp.CodeInternal
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, guard.ErrStart) {
			code = acp.CodeInvalidParams
		}
		return "", acp.Errorf(code, "%s", oneLine(err.Error()))
	}
	t.last++
	id := acp.TerminalID(fmt.Sprintf("term_%d", t.last))
	if t.byID == nil {
		t.byID = map[acp.TerminalID]*shownTerminal{}
	}
	t.byID[id] = &shownTerminal{started, view}
	return id, nil
}

func (t *terminals) find(id acp.TerminalID) (*shownTerminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.byID[id]; found != nil {
		return found, nil
	}
	return nil, acp.Errorf(acp.CodeResourceNotFound, "there is no terminal %q", id)
}

func (t *terminals) release(id acp.TerminalID) error {
	found, err := t.find(id)
	if err != nil {
		return err
	}
	t.mu.Lock()
	delete(t.byID, id)
	t.mu.Unlock()
	found.Release()
	found.view.end(nil)
	return nil
}

// releaseAll releases what the agent has not, and lets no more be created.
func (t *terminals) releaseAll() {
	t.mu.Lock()
	all := t.byID
	t.byID, t.closed = nil, true
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, one := range all {
		wg.Go(one.Release)
	}
	wg.Wait()
}

// exitOf returns an exit as the protocol has it: a code or a signal.
func exitOf(e guard.Exit) (code *uint32, signal *string) {
	if e.Signal != "" {
		return nil, &e.Signal
	}
	n := uint32(e.Code)
	return &n, nil
}
