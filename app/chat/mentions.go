// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"net/url"
	"path/filepath"
	"regexp"
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

// mentions finds the files that a prompt names: @path, or @"path" if there are spaces in it.
var mentions = regexp.MustCompile(`(?:^|\s)@(?:"([^"\n]+)"|([^\s"]+))`)

// named returns the paths of the files that a prompt names: of the session's directory, and of
// those that were dropped here.
func (c *console) named(prompt string) (paths []string) {
	for _, m := range mentions.FindAllStringSubmatch(prompt, -1) {
		name := m[1]
		if name == "" {
			if name = m[2]; c.dropped[name] == "" {
				name = strings.TrimRight(name, ".,;:!?)")
			}
		}
		at := c.dropped[name]
		if at == "" && slices.Contains(c.model.Files(), name) {
			at = filepath.Join(c.config.Dir, filepath.FromSlash(name))
		}
		if at != "" && !slices.Contains(paths, at) {
			paths = append(paths, at)
		}
	}
	return paths
}

// blocks makes content of a prompt: its text, a link to each file that it names, or the file
// itself if it is a picture, and pictures can be sent.
func blocks(prompt string, named []string, pictures bool) ([]acp.ContentBlock, error) {
	all := []acp.ContentBlock{acp.TextBlock(prompt)}
	for _, at := range named {
		if kind := pictureTypes[strings.ToLower(filepath.Ext(at))]; kind != "" && pictures {
			picture, err := readPicture(at, kind)
			if err != nil {
				return nil, err
			}
			all = append(all, acp.ContentBlock{Image: picture})
			continue
		}
		slashed := filepath.ToSlash(at)
		if !strings.HasPrefix(slashed, "/") {
			slashed = "/" + slashed // a drive of Windows
		}
		uri := (&url.URL{Scheme: "file", Path: slashed}).String()
		link := &acp.ResourceLink{Name: filepath.Base(at), URI: uri}
		all = append(all, acp.ContentBlock{ResourceLink: link})
	}
	return all, nil
}
