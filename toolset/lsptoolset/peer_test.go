// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// peer is a server at the other end of a link. It remembers what it hears.
type peer struct {
	// answer returns the members of the response to a request, nothing for no response.
	answer func(method, params string) string
	// told is called with notifications.
	told func(method, params string)
	conn net.Conn

	mu    sync.Mutex
	lines []string
}

// newPeer returns a link to a server that knows the files of a toy language, of a project in
// /project. It must be called in a bubble.
func newPeer(t *testing.T, name string, answer func(method, params string) string) (*link, *peer) {
	t.Helper()
	l := newLink(t, Server{Name: name, Files: map[string]string{".toy": "toy"}})
	l.conn.Close()
	l.encoding = lsp.UTF16
	v := l.guest.view
	v.roots, v.real = []string{"/project"}, []string{"/project"}
	v.guests = map[string]*guest{name: l.guest}
	v.pool.config.Servers = []Server{*l.guest.server}
	l.guest.server, l.guest.link = &v.pool.config.Servers[0], l
	here, there := net.Pipe()
	l.conn = lsp.NewConn(here, l, lsp.Limits{})
	t.Cleanup(l.conn.Close)
	p := &peer{answer: answer, conn: there}
	go p.serve()
	return l, p
}

func (p *peer) serve() {
	r := textproto.NewReader(bufio.NewReader(p.conn))
	for {
		header, err := r.ReadMIMEHeader()
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(r.R, body); err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		_ = json.Unmarshal(body, &m)
		params := strings.ReplaceAll(string(m.Params), "file:///project", "ROOT")
		p.mu.Lock()
		p.lines = append(p.lines, m.Method+" "+params)
		p.mu.Unlock()
		if m.ID == nil && p.told != nil {
			p.told(m.Method, params)
		}
		if m.ID == nil || p.answer == nil {
			continue
		}
		if text := p.answer(m.Method, params); text != "" {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, text))
		}
	}
}

func (p *peer) send(text string) {
	text = strings.ReplaceAll(text, "ROOT", "file:///project")
	fmt.Fprintf(p.conn, "Content-Length: %d\r\n\r\n%s", len(text), text)
}

// heard returns what the server has heard since the last time.
func (p *peer) heard() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.lines
	p.lines = nil
	return lines
}

// opened and changed are what a server hears of a document.
func opened(name, text string) string {
	return fmt.Sprintf(`textDocument/didOpen {"textDocument":{"uri":"ROOT/%s","languageId":"toy","version":1,"text":%q}}`, name, text)
}

func changed(name string, version int, text string) string {
	return fmt.Sprintf(`textDocument/didChange {"contentChanges":[{"text":%q}],"textDocument":{"version":%d,"uri":"ROOT/%s"}}`, text, version, name)
}

func saved(name string) string {
	return fmt.Sprintf(`textDocument/didSave {"textDocument":{"uri":"ROOT/%s"}}`, name)
}

func closed(name string) string {
	return fmt.Sprintf(`textDocument/didClose {"textDocument":{"uri":"ROOT/%s"}}`, name)
}

// disk is a workspace in memory, at /project, that remembers how its files are used, and fails as it
// is told to.
type disk struct {
	workspace.Workspace
	unsaved, blind bool
	used           []string
	fails          func(use string) error
	walks          func() // is called before each walk
}

func newDisk(t *testing.T, files map[string]string) *disk {
	t.Helper()
	w, err := workspace.NewMemory(workspace.MemoryConfig{Files: files})
	require.NoError(t, err)
	return &disk{Workspace: w}
}

// put writes a file, or removes it if there is no text.
func (d *disk) put(t *testing.T, name string, text ...string) {
	t.Helper()
	if len(text) == 0 {
		require.NoError(t, d.Workspace.Remove(t.Context(), name, workspace.AnyVersion))
		return
	}
	_, err := d.Workspace.Write(t.Context(), name, []byte(text[0]), workspace.AnyVersion)
	require.NoError(t, err)
}

func (d *disk) use(what, name string) error {
	use := what + " " + strings.TrimPrefix(name, "/project/")
	d.used = append(d.used, use)
	if d.fails != nil {
		return d.fails(use)
	}
	return nil
}

// uses returns how files were used since the last time.
func (d *disk) uses() []string {
	used := d.used
	d.used = nil
	return used
}

func (d *disk) Features() workspace.Features {
	f := d.Workspace.Features()
	f.Unsaved, f.Walk = d.unsaved, !d.blind
	return f
}

func (d *disk) Stat(ctx context.Context, path string) (workspace.Info, error) {
	if err := d.use("stat", path); err != nil {
		return workspace.Info{}, err
	}
	return d.Workspace.Stat(ctx, path)
}

func (d *disk) Open(ctx context.Context, path string, known bool) (*workspace.Document, error) {
	if err := d.use("open", path); err != nil {
		return nil, err
	}
	return workspace.OpenDocument(ctx, d.Workspace, path, known)
}

func (d *disk) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	if err := d.use("write", path); err != nil {
		return nil, err
	}
	return workspace.ApplyChange(ctx, d.Workspace, path, c)
}

func (d *disk) Remove(ctx context.Context, path string, v workspace.Version) error {
	if err := d.use("remove", path); err != nil {
		return err
	}
	return d.Workspace.Remove(ctx, path, v)
}

func (d *disk) Walk(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	if err := d.use("walk", dir); err != nil {
		return func(yield func(workspace.Info, error) bool) { yield(workspace.Info{}, err) }
	}
	if d.walks != nil {
		d.walks()
	}
	return d.Workspace.Walk(ctx, dir, o)
}

// names are the paths of documents, in the project.
func names(docs []*document) (all []string) {
	for _, d := range docs {
		all = append(all, strings.TrimPrefix(d.at.Path, "/project/"))
	}
	return all
}

// bubble runs a part of a test in a bubble, as a subtest: a test of its own for those who note which
// tests run.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
}
