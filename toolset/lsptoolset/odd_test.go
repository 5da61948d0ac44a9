// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// odd is a workspace that cannot do some things, or says more of its files.
type odd struct {
	*disk
	features func(f *workspace.Features)
	opened   func(d *workspace.Document)
}

func (o *odd) Features() workspace.Features {
	f := o.disk.Features()
	if o.features != nil {
		o.features(&f)
	}
	return f
}

func (o *odd) Open(ctx context.Context, path string, known bool) (*workspace.Document, error) {
	d, err := o.disk.Open(ctx, path, known)
	if err == nil && o.opened != nil {
		o.opened(d)
	}
	return d, err
}

// TestWhatCannotBeChanged compares what models and people are told of edits that a workspace does not
// take, or takes in another way.
func TestWhatCannotBeChanged(t *testing.T) {
	var got string
	rename := `{"symbol":"run","path":"a.toy","line":1,"new_name":"x"}`
	steps := func(all ...string) []string {
		return []string{"textDocument/rename", `"result":{"documentChanges":[` + strings.Join(all, ",") + `]}`}
	}
	edit := `{"textDocument":{"uri":"ROOT/a.toy"},"edits":[{"range":` + where(0, 4, 7) + `,"newText":"x"}]}`
	remove := `{"kind":"delete","uri":"ROOT/b.toy"}`
	var creates []string
	for i := range 1001 {
		creates = append(creates, fmt.Sprintf(`{"kind":"create","uri":"ROOT/new%d.toy"}`, i))
	}
	for _, c := range []struct {
		what    string
		w       odd
		answers []string
	}{
		{"blocked", odd{opened: func(d *workspace.Document) { d.Blocked = "somebody has it" }}, steps(edit)},
		{"bypass", odd{opened: func(d *workspace.Document) { d.Bypass = "the editor has no such file" }}, steps(edit)},
		{"no removing", odd{features: func(f *workspace.Features) { f.Remove = false }}, steps(edit, remove)},
		{"no removing, and nothing removed", odd{features: func(f *workspace.Features) { f.Remove = false }}, steps(edit)},
		{"1001 files", odd{}, steps(creates...)},
		{"the whole project", odd{}, steps(`{"kind":"delete","uri":"ROOT","options":{"recursive":true}}`)},
		{"a directory with files", odd{}, steps(`{"kind":"delete","uri":"ROOT/dir"}`)},
		{"a missing file", odd{}, steps(`{"kind":"delete","uri":"ROOT/none.toy"}`)},
		{"a missing file that need not exist", odd{}, steps(edit, `{"kind":"delete","uri":"ROOT/none.toy","options":{"ignoreIfNotExists":true}}`)},
		{"a missing file to rename", odd{}, steps(`{"kind":"rename","oldUri":"ROOT/none.toy","newUri":"ROOT/x.toy"}`)},
		{"a file in the way", odd{}, steps(`{"kind":"rename","oldUri":"ROOT/a.toy","newUri":"ROOT/b.toy"}`)},
		{"a file in the way that may stay", odd{}, steps(edit, `{"kind":"rename","oldUri":"ROOT/a.toy","newUri":"ROOT/b.toy","options":{"ignoreIfExists":true}}`)},
		{"a file in the way that goes", odd{}, steps(edit, `{"kind":"rename","oldUri":"ROOT/a.toy","newUri":"ROOT/b.toy","options":{"overwrite":true}}`)},
		{"a file that exists", odd{}, steps(`{"kind":"create","uri":"ROOT/b.toy"}`)},
		{"a file that exists and may stay", odd{}, steps(edit, `{"kind":"create","uri":"ROOT/b.toy","options":{"ignoreIfExists":true}}`)},
		{"a file that exists and goes", odd{}, steps(`{"kind":"create","uri":"ROOT/b.toy","options":{"overwrite":true}}`)},
		{"no file", odd{}, steps(`{"textDocument":{"uri":"ROOT/none.toy"},"edits":[]}`)},
		{"no text", odd{}, steps(`{"textDocument":{"uri":"ROOT/bin.toy"},"edits":[]}`)},
		{"beyond the text", odd{}, steps(`{"textDocument":{"uri":"ROOT/a.toy"},"edits":[{"range":` + where(9, 0, 1) + `,"newText":"x"}]}`)},
		{"another version", odd{}, steps(`{"textDocument":{"uri":"ROOT/a.toy","version":9},"edits":[{"range":` + where(0, 0, 1) + `,"newText":"x"}]}`)},
		{"outside", odd{}, steps(`{"kind":"create","uri":"file:///etc/x"}`)},
		{"renamed outside", odd{}, steps(`{"kind":"rename","oldUri":"ROOT/a.toy","newUri":"file:///etc/x"}`)},
		{"renamed from outside", odd{}, steps(`{"kind":"rename","oldUri":"file:///etc/x","newUri":"ROOT/x.toy"}`)},
		{"deleted outside", odd{}, steps(`{"kind":"delete","uri":"file:///etc/x"}`)},
		{"a snippet", odd{}, steps(`{"textDocument":{"uri":"ROOT/a.toy"},"edits":[{"range":` + where(0, 0, 1) + `,"snippet":{"value":"x"}}]}`)},
		{"twice on the way", odd{}, steps(edit, `{"kind":"rename","oldUri":"ROOT/dir","newUri":"ROOT/moved"}`, `{"kind":"rename","oldUri":"ROOT/moved/x.toy","newUri":"ROOT/y.toy"}`, `{"kind":"delete","uri":"ROOT/dir","options":{"recursive":true}}`)},
	} {
		bubble(t, func(t *testing.T) {
			d := newDesk(t, "gopls", Options{Budget: -1}, map[string]string{"a.toy": "def run\n", "b.toy": "b\n", "dir/x.toy": "x\n", "bin.toy": "\x00\xff"})
			w := c.w
			w.disk = d.w
			d.session = workspace.NewSession(&w)
			fmt.Fprintf(&d.told, "\n## %s\n", c.what)
			d.call("rename_symbol", rename, c.answers...)
			fmt.Fprintf(&d.told, "  files: %q\n", d.files())
			got += d.told.String()
		})
	}
	golden(t, "cannot.txt", got)
}

// The hooks of a capability leave calls alone that are not about files, and look at the project again
// after those that are.
func TestHooksOfOtherCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDesk(t, "gopls", Options{Budget: -1}, map[string]string{"a.toy": "def run\n"})
		v := d.l.guest.view
		pool := v.pool
		var session *workspace.Session
		capability := Capability(pool, func(*workspace.Session) *workspace.Session { return session }, Options{Budget: -1})
		require.Equal(t, "lsp", capability.Name)
		hook := capability.Hooks[0].Call
		failure := fmt.Errorf("because")
		calls := 0
		call := func(args any) bool {
			v.scan.next = v.scan.next.Add(1)
			before := v.scan.next
			_, err := hook(t.Context(), &toolset.RunContext[*workspace.Session]{}, args, func(_ context.Context, given any) (toolset.Result, error) {
				calls++
				require.Equal(t, args, given)
				return toolset.Result{Text: "done"}, failure
			})
			require.ErrorIs(t, err, failure)
			return v.scan.next != before
		}
		require.False(t, call("x"), "no session")
		session = d.session
		require.False(t, call("x"), "not about files")
		require.Equal(t, 2, calls)
		nobody := Capability[*workspace.Session](nil, nil, Options{})
		_, err := nobody.Hooks[0].Call(t.Context(), &toolset.RunContext[*workspace.Session]{}, "x", func(context.Context, any) (toolset.Result, error) {
			return toolset.Result{Text: "done"}, nil
		})
		require.NoError(t, err)
		_, err = nobody.Commands[0].Run(t.Context(), agent.CommandCall[*workspace.Session]{})
		require.EqualError(t, err, "lsptoolset: Tools: the servers are nil")
		(*Servers)(nil).stale()
	})
}
