// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// What the model is told, what the person is shown in the question on the wire, and what is on disk are the same in clients that we did not write.
// The clients are processes with handlers of files of their own: acpx's, and those of small clients on the SDKs. Each makes one prompt, in which all
// kinds of files are read, written, edited and taken back.
func TestThreeTruthsAgreeInRealClients(t *testing.T) {
	for name, start := range map[string]func(t *testing.T, agent []string, dir string) (wait func()){
		"acpx": func(t *testing.T, agent []string, dir string) func() {
			r := newACPXFor(t, agent, dir).start("--approve-all", "exec", "go")
			return func() { r.wait(acpxOK) }
		},
		"Python SDK": func(t *testing.T, agent []string, dir string) func() {
			return startFiles(t, exec.Command(python(t), append([]string{filepath.Join("python", "files.py"), dir}, agent...)...))
		},
		"TypeScript SDK": func(t *testing.T, agent []string, dir string) func() {
			script, err := os.ReadFile(filepath.Join("npm", "files.mjs"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("node", append([]string{"--input-type=module", "-e", string(script), dir}, agent...)...)
			cmd.Dir = node(t)
			return startFiles(t, cmd)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFilesClient(t)
			c.wait = start(t, self(t, "forward", c.socket), c.dir)
			c.begin(t)
			editortest.RunTruths(t, nil, c.env(t))
			c.end()
			t.Logf("the client has read %d times and written %d times", c.reads.Load(), c.writes.Load())
			if c.reads.Load() < 100 || c.writes.Load() < 25 {
				t.Error("the client's files were not used")
			}
		})
	}
}

// startFiles starts a client, which has to end well.
func startFiles(t *testing.T, cmd *exec.Cmd) (wait func()) {
	t.Helper()
	var said lockedText
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := startGroup(t, cmd); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v\n%s", err, &said)
		}
	}
}

// forwardMain is an agent whose messages are those of a test: it copies between its pipes and a socket.
func forwardMain(args []string) int {
	conn, err := net.Dial("unix", args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, conn); err != nil {
		return 1
	}
	return 0
}

// filesClient is a client in another process, while it waits for the answer to a prompt.
type filesClient struct {
	dir, socket string
	listener    net.Listener
	wait        func()
	conn        *acp.AgentConn
	agent       *waitingAgent

	reads, writes atomic.Int32
}

func newFilesClient(t *testing.T) *filesClient {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "f") // with a short path, for the socket beside it
	if err != nil {
		t.Fatal(err)
	}
	c := &filesClient{dir: dir, socket: dir + ".s"}
	if c.listener, err = net.Listen("unix", c.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.listener.Close() })
	c.agent = &waitingAgent{prompted: make(chan struct{}), over: make(chan struct{})}
	return c
}

// begin waits until the client has made its prompt.
func (c *filesClient) begin(t *testing.T) {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		accepted, err := c.listener.Accept()
		if err == nil {
			c.conn = acp.NewAgentConn(accepted, accepted, func(*acp.AgentConn) acp.Agent { return c.agent }, nil)
			err = c.conn.Serve(context.WithoutCancel(t.Context()))
		}
		ended <- cmp.Or(err, errors.New("the connection has ended"))
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-c.agent.prompted:
	case err := <-ended:
		c.wait()
		t.Fatalf("before the prompt: %v", err)
	case <-ctx.Done():
		t.Fatal("no prompt has come")
	}
}

// end answers the prompt and waits for the end of the client.
func (c *filesClient) end() {
	close(c.agent.over)
	c.wait()
}

// env returns environments, each in a directory below that of the client's session.
func (c *filesClient) env(t *testing.T) func(*editortest.Editor) (*workspacetest.Env, error) {
	return func(*editortest.Editor) (*workspacetest.Env, error) {
		dir, err := os.MkdirTemp(c.agent.cwd, "cell")
		if err != nil {
			return nil, err
		}
		shown := &shownChanges{Client: c.conn, to: c, file: filepath.Join(dir, "file")}
		d := deps.ACPDeps{Client: shown, Session: &deps.Session{ID: filesSession, Cwd: dir, Capabilities: c.agent.can}}
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
		if err != nil {
			return nil, err
		}
		return &workspacetest.Env{Workspace: w, Disk: workspacetest.OSDisk{}, Outside: dir + "-outside", Asker: acpbridge.Asker(d), Close: func() {
			if err := shown.check(); err != nil {
				t.Error(err)
			}
			_ = w.Close()
		}}, nil
	}
}

const filesSession = "session"

// waitingAgent has one session, and one prompt that it answers when it is told to.
type waitingAgent struct {
	acp.UnimplementedAgent
	can      acp.ClientCapabilities
	cwd      string
	prompted chan struct{}
	over     chan struct{}
}

func (a *waitingAgent) Initialize(_ context.Context, p *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	a.can = p.ClientCapabilities
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (a *waitingAgent) NewSession(_ context.Context, p *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	a.cwd = p.Cwd
	return &acp.NewSessionResponse{SessionID: filesSession}, nil
}

func (a *waitingAgent) Prompt(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
	close(a.prompted)
	select {
	case <-a.over:
	case <-ctx.Done():
	}
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// shownChanges keeps the last question about a file that went to the client, with what was on disk then.
type shownChanges struct {
	acp.Client
	to   *filesClient
	file string

	mu     sync.Mutex
	before []byte // nil for no file
	diffs  []*acp.Diff
}

func (s *shownChanges) RequestPermission(ctx context.Context, req *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	s.mu.Lock()
	s.before, s.diffs = contents(s.file), nil
	for i := range req.ToolCall.Content {
		if d := req.ToolCall.Content[i].Diff; d != nil {
			s.diffs = append(s.diffs, d)
		}
	}
	s.mu.Unlock()
	return s.Client.RequestPermission(ctx, req)
}

func (s *shownChanges) ReadTextFile(ctx context.Context, req *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	s.to.reads.Add(1)
	return s.Client.ReadTextFile(ctx, req)
}

func (s *shownChanges) WriteTextFile(ctx context.Context, req *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	s.to.writes.Add(1)
	return s.Client.WriteTextFile(ctx, req)
}

// check compares what is on disk with what the last question showed. A file that is as it was then has not been changed, or the change was taken
// back.
func (s *shownChanges) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := contents(s.file)
	if s.diffs == nil || bytes.Equal(after, s.before) && (after == nil) == (s.before == nil) || after == nil && len(s.diffs) > 0 {
		return nil
	}
	text := legible(s.before)
	for _, d := range s.diffs {
		switch {
		case d.OldText == nil:
			text = d.NewText
		case !strings.Contains(text, *d.OldText):
			return fmt.Errorf("the question showed %.200q, and on disk was %.200q", *d.OldText, text)
		default:
			text = strings.Replace(text, *d.OldText, d.NewText, 1)
		}
	}
	if text != legible(after) {
		return fmt.Errorf("the question showed what makes %.200q, and on disk is %.200q", text, legible(after))
	}
	return nil
}

// contents returns what is in a file, nil if there is none.
func contents(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return append([]byte{}, data...)
}

// legible returns contents as people are shown them.
func legible(data []byte) string {
	if text, ok := workspace.DecodeText(data); ok {
		return string(text.Data)
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}
