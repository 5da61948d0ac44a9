// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/deps"
)

// Options configure the editor and the actions of its user. The zero value is an empty editor, able
// to do everything, whose user allows everything once.
type Options struct {
	// Files are the files on disk by absolute path.
	Files map[string]string
	// OnDisk has the editor read and save files of this machine, as editors do that share it with
	// the agent. Files and [Client.SetFile] then write there. Without it the disk is a map, and
	// Files are best put into a directory that this machine does not have.
	OnDisk bool
	// Programs are what terminals can run. See [Program].
	Programs map[string]Program
	// Capabilities are announced by the client; nil means files and terminals.
	Capabilities *acp.ClientCapabilities
	// Answers are the user's answers to permission requests, in order. When they are used up,
	// Permission answers.
	Answers []Answer
	// Permission answers; nil allows once. It is called with the handler's ctx and may wait.
	Permission func(ctx context.Context, req *acp.RequestPermissionRequest) Answer
	// Elicitation answers the agent's forms and addresses. It is called with the handler's ctx and
	// may wait. If it is not nil and Capabilities is, the client announces both.
	Elicitation func(ctx context.Context, req *acp.CreateElicitationRequest) *acp.CreateElicitationResponse
	// Before, if not nil, is called first in every call from the agent. An error of it is the
	// call's.
	Before func(ctx context.Context, call Call) error
}

// Call is a call from the agent: the method's name, and its parameters as a pointer to the type of
// package acp.
type Call struct {
	Method string // such as "fs/read_text_file"
	Params any    // such as *acp.ReadTextFileRequest
}

// Client is an editor in memory. See the package documentation. Make it with [New].
type Client struct {
	acp.UnimplementedClient
	capabilities acp.ClientCapabilities
	permission   func(ctx context.Context, req *acp.RequestPermissionRequest) Answer
	elicitation  func(ctx context.Context, req *acp.CreateElicitationRequest) *acp.CreateElicitationResponse
	before       func(ctx context.Context, call Call) error
	programs     map[string]Program

	running sync.WaitGroup // programs
	ctx     context.Context
	stop    context.CancelFunc

	mu          sync.Mutex
	files       map[string]string
	unsaved     map[string]string
	onDisk      bool
	answers     []Answer
	faults      map[string]*fault
	closed      bool // disconnected
	disconnect  func()
	terminals   map[acp.TerminalID]*terminal
	lastID      int
	sessions    int
	calls       []Call
	updates     []acp.SessionNotification
	changed     chan struct{} // closed with the next update
	permissions []*acp.RequestPermissionRequest
	elicited    []*acp.CreateElicitationRequest
	watch       watcher
}

var _ acp.Client = (*Client)(nil)

// New returns an editor. [Client.Close] ends what runs in its terminals.
func New(o Options) *Client {
	c := &Client{
		capabilities: acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true},
		permission:   o.Permission, before: o.Before, programs: o.Programs,
		onDisk: o.OnDisk, files: map[string]string{}, unsaved: map[string]string{}, faults: map[string]*fault{},
		terminals: map[acp.TerminalID]*terminal{}, changed: make(chan struct{}), answers: slices.Clone(o.Answers),
	}
	if o.Elicitation != nil {
		c.elicitation = o.Elicitation
		c.capabilities.Elicitation = &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}}
	}
	if o.Capabilities != nil {
		c.capabilities = *o.Capabilities
	}
	for path, content := range o.Files {
		c.SetFile(path, content)
	}
	c.watch.calls = map[acp.ToolCallID]acp.ToolCallStatus{}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Close kills the programs that still run and waits for them.
func (c *Client) Close() {
	c.stop()
	c.running.Wait()
}

// Deps returns the dependencies of an agent that works in a new session of this editor.
func (c *Client) Deps(cwd string) deps.ACPDeps {
	c.mu.Lock()
	c.sessions++
	id := acp.SessionID(fmt.Sprintf("session-%d", c.sessions))
	c.mu.Unlock()
	return deps.ACPDeps{
		Client:  c,
		Session: &deps.Session{ID: id, Cwd: cwd, Capabilities: c.capabilities, Policy: new(approval.Policy)},
		Tracker: deps.NewTracker(c, id, nil),
	}
}

// Capabilities returns what the client announces.
func (c *Client) Capabilities() acp.ClientCapabilities { return c.capabilities }

// SetFile writes a file on disk without the agent's knowledge. Unsaved changes of it stay. It
// panics if the disk refuses.
func (c *Client) SetFile(path, content string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.save(path, content); err != nil {
		panic("acptest: SetFile: " + err.Error())
	}
}

// save writes a file. c is locked.
func (c *Client) save(path, content string) error {
	if !c.onDisk {
		c.files[path] = content
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// Type puts unsaved changes into the editor: the agent reads content, and the file on disk stays as
// it is.
func (c *Client) Type(path, content string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsaved[path] = content
}

// File returns what the editor has of a file: unsaved changes if there are any, else what is on
// disk.
func (c *Client) File(path string) (content string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file(path)
}

func (c *Client) file(path string) (string, bool) {
	if content, ok := c.unsaved[path]; ok {
		return content, true
	}
	if c.onDisk {
		data, err := os.ReadFile(path)
		return string(data), err == nil
	}
	content, ok := c.files[path]
	return content, ok
}

// Calls returns what the agent has called, session/update left out, in the order in which the calls
// came.
func (c *Client) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Permissions returns the permission requests so far.
func (c *Client) Permissions() []*acp.RequestPermissionRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.permissions)
}

// enter is the beginning of every call: it records it, lets the next message of a connection be
// handled meanwhile, and applies faults.
func (c *Client) enter(ctx context.Context, method string, params any) error {
	if method != acp.MethodSessionUpdate {
		acp.Async(ctx)
	}
	if c.before != nil {
		if err := c.before(ctx, Call{method, params}); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return acp.ErrClosed
	}
	if method != acp.MethodSessionUpdate {
		c.calls = append(c.calls, Call{method, params})
	}
	c.checkAnnounced(method, params)
	delay, failure := c.faults[method].next()
	c.mu.Unlock()
	if err := pause(ctx, delay); err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	if method == acp.MethodSessionUpdate {
		return nil // as a connection does, whose queue takes it whatever becomes of ctx
	}
	return context.Cause(ctx)
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
