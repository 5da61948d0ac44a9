// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// keeper is a workspace that hands out files as they are saved.
type keeper struct{ *ws.Memory }

func (k keeper) Features() ws.Features {
	f := k.Memory.Features()
	f.Saved = true
	return f
}

func (k keeper) Read(ctx context.Context, path string, r ws.Range) (ws.File, error) {
	r.Saved = false
	return k.Memory.Read(ctx, path, r)
}

// TestLinkedFilesThatAreRead has which of the files that a prompt links to the model is given.
func TestLinkedFilesThatAreRead(t *testing.T) {
	w, err := ws.NewMemory(ws.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	var many []string
	for i := range 60 {
		name := fmt.Sprintf("f%02d", i)
		require.NoError(t, w.Disk().WriteFile("/repo/"+name, []byte("x"), 0o644))
		many = append(many, name)
	}
	for name, data := range map[string]string{
		"four": "4444", "also": "4444", "three": "333", "empty": "", "nul": "\x00ab", "late": "ab\x00",
		"latin": "on\xe9", "a.png": "png", "b.PNG": "PNG", "c.wav": "wav",
	} {
		require.NoError(t, w.Disk().WriteFile("/repo/"+name, []byte(data), 0o644))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		limit int
		names []string
		want  string
	}{
		{nil, 100, []string{"four", "three"}, "four three"},
		{nil, 100, []string{"four", "four", "three", "four"}, "four three"},
		{nil, 8, []string{"four", "also"}, "four also"},
		{nil, 7, []string{"four", "also", "three"}, "four three"},
		{nil, 4, []string{"four", "three"}, "four"},
		{nil, 3, []string{"four", "three"}, "three"},
		{nil, 0, []string{"four", "empty"}, ""},
		{nil, 100, []string{"empty", "nul", "late", "latin", "none", "three"}, "three"},
		{nil, 100, []string{"a.png", "b.PNG", "c.wav", "three"}, "a.png b.PNG c.wav three"},
		{nil, 100, many, strings.Join(many[:50], " ")},
		{ended, 100, []string{"four"}, ""},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		var links []*acp.ResourceLink
		for _, name := range c.names {
			links = append(links, &acp.ResourceLink{URI: "file:///repo/" + name})
		}
		var got []string
		for _, p := range linkedFiles(ctx, keeper{w}, links, []string{"image"}, c.limit) {
			name := p.Name
			if p.Kind == model.PartUser {
				_, name, _ = strings.Cut(p.Text, "file:///repo/")
				name, _, _ = strings.Cut(name, ":")
			}
			got = append(got, name)
		}
		require.Equal(t, c.want, strings.Join(got, " "), "%v of %d bytes", c.names, c.limit)
	}
}

// TestLinksThatAreFiles has the addresses that are taken for files, and what is made of one.
func TestLinksThatAreFiles(t *testing.T) {
	w, err := ws.NewMemory(ws.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	require.NoError(t, w.Disk().WriteFile("/repo/a", []byte("text\n"), 0o644))
	image := model.Media("image/png", []byte("text\n"))
	image.Name = "a"
	text := func(uri string) []model.Part {
		return []model.Part{model.User("Contents of " + uri + ":\n```\ntext\n```")}
	}
	for _, c := range []struct {
		uri, mime string
		want      []model.Part
	}{
		{"file:///repo/a", "", text("file:///repo/a")},
		{"FILE:///repo/a", "", text("FILE:///repo/a")},
		{"file:///repo/a", "text/plain", text("file:///repo/a")},
		{"file:///repo/a", "image/png", []model.Part{image}},
		{"file:///repo/a", "Image/PNG; q=1", []model.Part{{
			Kind: model.PartMedia, MediaType: "Image/PNG; q=1", Data: []byte("text\n"), Name: "a",
		}}},
		{"file:///repo/a", "audio/wav", text("file:///repo/a")},
		{"/repo/a", "", nil}, {"", "", nil}, {"file", "", nil}, {"file:", "", nil},
		{"files:///repo/a", "", nil}, {"https://repo/a", "", nil}, {"file:///etc/a", "", nil},
	} {
		l := &acp.ResourceLink{URI: c.uri, MIMEType: new(c.mime)}
		read := func(w ws.Workspace, limit int) []model.Part {
			return linkedFiles(t.Context(), w, []*acp.ResourceLink{l}, []string{"image"}, limit)
		}
		require.Equal(t, c.want, read(keeper{w}, 5), "%s %s", c.uri, c.mime)
		require.Empty(t, read(keeper{w}, 4))
		if c.want != nil && c.want[0].Kind == model.PartMedia {
			c.want = nil // an editor has text only
		}
		require.Equal(t, c.want, read(w, 5), "%s %s", c.uri, c.mime)
	}
}
