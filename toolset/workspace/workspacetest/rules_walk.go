// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func walkRules() []rule {
	tree := func(p *probe) {
		for _, name := range []string{"b.txt", "a/c/deep", "a/b", "a.txt", "a-b/x", "Z/y", ".hidden/h"} {
			p.put(name, name)
		}
		p.must(p.Disk.Mkdir(p.root(0, "empty")), "prepare")
	}
	return []rule{
		{"a walk lists everything in order", needsWalk, func(p *probe) {
			tree(p)
			p.equal(p.walk(".", workspace.WalkOptions{}), []string{
				".hidden", ".hidden/h", "Z", "Z/y", "a", "a/b", "a/c", "a/c/deep", "a-b", "a-b/x",
				"a.txt", "b.txt", "empty",
			}, "walk")
			p.equal(p.walk("a", workspace.WalkOptions{}), []string{"a/b", "a/c", "a/c/deep"}, "walk of a directory")
			p.equal(
				p.walk(p.root(0, "a/c"), workspace.WalkOptions{}), []string{"a/c/deep"},
				"walk of an absolute directory",
			)
			p.equal(p.walk("empty", workspace.WalkOptions{}), []string{}, "walk of an empty directory")
			p.equal(p.walk("a/b", workspace.WalkOptions{}), []string{"a/b"}, "walk of a file")
		}},
		{"Depth bounds a walk", needsWalk, func(p *probe) {
			tree(p)
			p.equal(p.walk("a", workspace.WalkOptions{Depth: 1}), []string{"a/b", "a/c"}, "depth 1")
			p.equal(p.walk(".", workspace.WalkOptions{Depth: 2}), []string{
				".hidden", ".hidden/h", "Z", "Z/y", "a", "a/b", "a/c", "a-b", "a-b/x", "a.txt",
				"b.txt", "empty",
			}, "depth 2")
		}},
		{"Filter decides what is listed and entered", needsWalk, func(p *probe) {
			tree(p)
			var dirs []string
			got := p.walk(".", workspace.WalkOptions{Filter: func(dir string, entries []workspace.Info) []workspace.Info {
				dirs = append(dirs, strings.ReplaceAll(p.style().Rel(p.ws.Roots()[0], dir), `\`, "/"))
				entries = slices.DeleteFunc(entries, func(i workspace.Info) bool {
					return strings.HasSuffix(i.Path, "c") || strings.HasSuffix(i.Path, ".hidden")
				})
				slices.Reverse(entries)
				return entries
			}})
			p.equal(got, []string{"empty", "b.txt", "a.txt", "a-b", "a-b/x", "a", "a/b", "Z", "Z/y"}, "walk")
			p.equal(dirs, []string{".", "empty", "a-b", "a", "Z"}, "the directories that Filter was called for")
		}},
		{"a walk ends when its consumer does", needsWalk, func(p *probe) {
			tree(p)
			for most := 1; most <= 13; most++ { // also within a directory, and at its end
				n := 0
				for range p.ws.Walk(p.ctx, ".", workspace.WalkOptions{}) {
					if n++; n == most {
						break
					}
				}
				p.equal(n, most, "the number of entries")
			}
		}},
		{"Details describes what is listed", func(f workspace.Features) bool { return f.Walk && f.Read }, func(p *probe) {
			tree(p)
			for info, err := range p.ws.Walk(p.ctx, "a", workspace.WalkOptions{Details: true}) {
				p.ok(err, "walk")
				if info.IsDir() {
					continue
				}
				want, err := p.ws.Stat(p.ctx, info.Path)
				p.ok(err, "stat")
				p.equal(info.Version, want.Version, "the version of %s", info.Path)
				p.equal(info.Size, want.Size, "the size of %s", info.Path)
				p.equal(info.Mode, want.Mode, "the mode of %s", info.Path)
			}
		}},
		{"links are listed and not followed", needsWalk, func(p *probe) {
			p.put("real/f", "")
			p.must(p.Disk.WriteFile(p.out("secret"), nil, 0o644), "prepare")
			if !p.link(p.Outside, p.root(0, "out")) || !p.link("real", p.root(0, "in")) || !p.link("nowhere", p.root(0, "dangling")) || !p.link(".", p.root(0, "self")) {
				return
			}
			p.equal(
				p.walk(".", workspace.WalkOptions{}),
				[]string{"dangling", "in", "out", "real", "real/f", "self"}, "walk",
			)
			for info, err := range p.ws.Walk(p.ctx, ".", workspace.WalkOptions{Depth: 1}) {
				p.ok(err, "walk")
				if !strings.HasSuffix(info.Path, "real") {
					p.equal(info.Mode.Type(), fs.ModeSymlink, "the type of %s", info.Path)
				}
			}
			p.equal(p.walk("in", workspace.WalkOptions{}), []string{"in/f"}, "walk of a link to a directory inside")
		}},
		{"a walk of nothing is an error", needsWalk, func(p *probe) {
			p.put("file", "")
			p.is(p.lastError(p.ctx, "missing"), "walk %s", "a missing directory", fs.ErrNotExist)
			p.is(p.lastError(p.ctx, "file/x"), "walk %s", "below a file", workspace.ErrNotDirectory)
		}},
		{"a walk of many files is complete", needsWalk, func(p *probe) {
			const n = 1100 // a thousand, and with such names more than the 32 KiB that are read of a directory at once
			for i := range n {
				p.put("many/"+strings.Repeat("x", 60+i%7)+string(rune('a'+i%26))+itoa(i), "")
			}
			got := p.walk("many", workspace.WalkOptions{})
			p.equal(len(got), n, "the number of files")
			p.equal(slices.IsSorted(got), true, "sorted")
		}},
	}
}
