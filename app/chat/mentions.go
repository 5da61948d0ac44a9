// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// maxListed is how many files can be completed.
const maxListed = 20_000

// list lists the files of a workspace, relative to its root, without hidden files and large
// generated directories.
func list(ctx context.Context, files *local.Workspace) (all []string) {
	root := files.Roots()[0]
	for info, err := range files.Walk(ctx, root, workspace.WalkOptions{Filter: func(_ string, entries []workspace.Info) []workspace.Info {
		return slices.DeleteFunc(entries, func(i workspace.Info) bool {
			name := filepath.Base(i.Path)
			return strings.HasPrefix(name, ".") || i.Mode.IsDir() && (name == "node_modules" || name == "vendor" || name == "target")
		})
	}}) {
		if err != nil || info.Mode.IsDir() {
			continue
		}
		if name, err := filepath.Rel(root, info.Path); err == nil && !strings.ContainsAny(name, " \t\n") {
			all = append(all, filepath.ToSlash(name))
		}
		if len(all) == maxListed {
			break
		}
	}
	return all
}

// blocks makes content of a prompt: its text, and a link to each file that it names as @path.
func blocks(prompt, dir string, files []string) []acp.ContentBlock {
	all := []acp.ContentBlock{acp.TextBlock(prompt)}
	var linked []string
	for word := range strings.FieldsSeq(prompt) {
		name, ok := strings.CutPrefix(word, "@")
		if name = strings.TrimRight(name, ".,;:!?)"); !ok || !slices.Contains(files, name) || slices.Contains(linked, name) {
			continue
		}
		linked = append(linked, name)
		at := filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(name)))
		if !strings.HasPrefix(at, "/") {
			at = "/" + at // a drive of Windows
		}
		uri := (&url.URL{Scheme: "file", Path: at}).String()
		all = append(all, acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: path.Base(name), URI: uri}})
	}
	return all
}
