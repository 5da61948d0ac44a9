// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func writeRules() []rule {
	return []rule{
		{"a write without a version creates a file", needsWrite, func(p *probe) {
			v, err := p.ws.Write(p.ctx, "new/deep/f", []byte("text"), "")
			p.must(err, "create")
			p.holds(p.root(0, "new/deep/f"), "text")
			f, err := p.read("new/deep/f")
			p.ok(err, "read")
			p.equal(f.Version, v, "the version that Write returned")
			_, err = p.ws.Write(p.ctx, "new/deep/f", []byte("other"), "")
			p.is(err, "create %s again", "f", workspace.ErrChanged)
			p.holds(p.root(0, "new/deep/f"), "text")
		}},
		{"a write with a version replaces that version alone", needsWrite, func(p *probe) {
			p.put("f", "one")
			f, err := p.read("f")
			p.must(err, "read")
			p.put("f", "two") // somebody else, at once and of the same length
			_, err = p.ws.Write(p.ctx, "f", []byte("lost"), f.Version)
			p.is(err, "write %s", "an old version", workspace.ErrChanged)
			p.holds(p.root(0, "f"), "two")
			f, err = p.read("f")
			p.must(err, "read")
			v, err := p.ws.Write(p.ctx, "f", []byte("three"), f.Version)
			p.must(err, "write the present version")
			v, err = p.ws.Write(p.ctx, "f", []byte("four"), v)
			p.ok(err, "write the version that Write returned")
			p.holds(p.root(0, "f"), "four")
			_, err = p.ws.Write(p.ctx, "f", []byte("five"), f.Version)
			p.is(err, "write %s", "an old version", workspace.ErrChanged)
			_, err = p.ws.Write(p.ctx, "missing", []byte("x"), v)
			p.is(err, "write %s", "a version of a file that does not exist", workspace.ErrChanged)
			p.absent(p.root(0, "missing"))
		}},
		{"AnyVersion writes whatever is there", needsWrite, func(p *probe) {
			for _, text := range []string{"one", "two", ""} {
				_, err := p.ws.Write(p.ctx, "sub/f", []byte(text), workspace.AnyVersion)
				p.must(err, "write")
				p.holds(p.root(0, "sub/f"), text)
			}
		}},
		{"bytes are written as they are", needsWrite, func(p *probe) {
			text := "\ufeffa\r\nb\x00\xff"
			_, err := p.ws.Write(p.ctx, "f", []byte(text), "")
			if errors.Is(err, workspace.ErrBinary) {
				text = "\ufeffa\r\nb"
				_, err = p.ws.Write(p.ctx, "f", []byte(text), "")
			}
			p.must(err, "write")
			p.holds(p.root(0, "f"), text)
			data := []byte("before")
			_, err = p.ws.Write(p.ctx, "g", data, "")
			p.must(err, "write")
			copy(data, "XXXXXX")
			f, err := p.read("g")
			p.ok(err, "read")
			p.equal(string(f.Data), "before", "the data was kept by reference")
			if len(f.Data) > 0 {
				f.Data[0] = 'X'
				f, err = p.read("g")
				p.ok(err, "read")
				p.equal(string(f.Data), "before", "a change of Data changed the file")
			}
		}},
		{"a write keeps the mode", needsWrite, func(p *probe) {
			p.must(p.Disk.WriteFile(p.root(0, "script"), []byte("#!"), 0o750), "prepare")
			before, err := p.Disk.Mode(p.root(0, "script"))
			p.must(err, "mode")
			_, err = p.ws.Write(p.ctx, "script", []byte("#!/bin/sh"), workspace.AnyVersion)
			p.must(err, "write")
			after, err := p.Disk.Mode(p.root(0, "script"))
			p.ok(err, "mode")
			p.equal(after, before, "the mode")
		}},
		{"a directory or a file in the way is an error", needsWrite, func(p *probe) {
			p.put("file", "text")
			p.must(p.Disk.Mkdir(p.root(0, "dir/sub")), "prepare")
			for path, want := range sorted(map[string]error{"dir": workspace.ErrIsDirectory, ".": workspace.ErrIsDirectory, "file/x": workspace.ErrNotDirectory, "file/x/y": workspace.ErrNotDirectory}) {
				for _, v := range []workspace.Version{"", workspace.AnyVersion} {
					_, err := p.ws.Write(p.ctx, path, []byte("x"), v)
					p.is(err, "write %s", path, want)
				}
			}
			p.holds(p.root(0, "file"), "text")
		}},
		{"a write follows a link inside", needsWrite, func(p *probe) {
			p.put("real", "one")
			if !p.link("real", p.root(0, "link")) || !p.link("later", p.root(0, "dangling")) {
				return
			}
			_, err := p.ws.Write(p.ctx, "link", []byte("two"), workspace.AnyVersion)
			p.must(err, "write")
			p.holds(p.root(0, "real"), "two")
			mode, err := p.Disk.Mode(p.root(0, "link"))
			p.ok(err, "mode")
			p.equal(mode.Type(), fs.ModeSymlink, "the link is still a link")
			_, err = p.ws.Write(p.ctx, "dangling", []byte("three"), "")
			p.ok(err, "write through a link to a file that does not exist")
			p.holds(p.root(0, "later"), "three")
		}},
		{"a write leaves no other file", needsWrite, func(p *probe) {
			if !p.ws.Features().Walk {
				return
			}
			p.put("f", "one")
			for _, v := range []workspace.Version{workspace.AnyVersion, "", "no-such-version"} {
				_, _ = p.ws.Write(p.ctx, "f", []byte("two"), v)
			}
			p.equal(p.walk(".", workspace.WalkOptions{}), []string{"f"}, "the files")
		}},
		{"Remove deletes a file of the version", needsRemove, func(p *probe) {
			p.put("f", "one")
			p.must(p.Disk.Mkdir(p.root(0, "dir")), "prepare")
			f, err := p.read("f")
			p.must(err, "read")
			p.put("f", "two")
			p.is(p.ws.Remove(p.ctx, "f", f.Version), "remove %s", "an old version", workspace.ErrChanged)
			p.is(p.ws.Remove(p.ctx, "f", ""), "remove %s", "no version", workspace.ErrChanged)
			p.holds(p.root(0, "f"), "two")
			f, err = p.read("f")
			p.must(err, "read")
			p.ok(p.ws.Remove(p.ctx, "f", f.Version), "remove")
			p.absent(p.root(0, "f"))
			p.is(p.ws.Remove(p.ctx, "f", workspace.AnyVersion), "remove %s", "nothing", fs.ErrNotExist)
			p.is(p.ws.Remove(p.ctx, "f", f.Version), "remove %s", "a version of nothing", workspace.ErrChanged)
			p.is(
				p.ws.Remove(p.ctx, "dir", workspace.AnyVersion), "remove %s", "a directory",
				workspace.ErrIsDirectory,
			)
		}},
		{"Remove takes a link away and not its target", needsRemove, func(p *probe) {
			p.put("real", "text")
			if !p.link("real", p.root(0, "link")) {
				return
			}
			p.ok(p.ws.Remove(p.ctx, "link", workspace.AnyVersion), "remove")
			p.absent(p.root(0, "link"))
			p.holds(p.root(0, "real"), "text")
		}},
	}
}

// raceRules are about concurrent use.
func raceRules() []rule {
	return []rule{
		{"of several writers of a version one wins", needsWrite, func(p *probe) {
			for round := range 20 {
				name := fmt.Sprintf("f%d", round)
				var version workspace.Version
				if round%2 == 1 {
					p.put(name, "old")
					f, err := p.read(name)
					p.must(err, "read")
					version = f.Version
				}
				const writers = 8
				won := make([]error, writers)
				var all sync.WaitGroup
				for i := range writers {
					all.Go(func() { _, won[i] = p.ws.Write(p.ctx, name, fmt.Append(nil, "by ", i), version) })
				}
				all.Wait()
				winner := -1
				for i, err := range won {
					switch {
					case err == nil && winner >= 0:
						p.stop("%d and %d wrote the version %q", winner, i, version)
					case err == nil:
						winner = i
					default:
						p.is(err, "writer %d", i, workspace.ErrChanged)
					}
				}
				if winner < 0 {
					p.stop("nobody wrote the version %q", version)
				}
				p.holds(p.root(0, name), fmt.Sprint("by ", winner))
			}
		}},
		{"a reader sees the old contents or the new", needsWrite, func(p *probe) {
			contentsOf := func(i int) string { return strings.Repeat(string(rune('0'+i%10)), 1<<16-i*100) }
			p.put("f", contentsOf(0))
			done := make(chan struct{})
			var writer sync.WaitGroup
			writer.Go(func() {
				defer close(done)
				for i := range 50 {
					if _, err := p.ws.Write(p.ctx, "f", []byte(contentsOf(i)), workspace.AnyVersion); err != nil {
						return
					}
				}
			})
			contents := map[workspace.Version]string{}
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				f, err := p.read("f")
				if !p.ok(err, "read during a write") {
					break
				}
				text := string(f.Data)
				if i := (1<<16 - len(text)) / 100; i < 0 || i >= 50 || text != contentsOf(i) {
					p.errorf("a reader saw a part of a write: %d bytes", len(text))
					break
				}
				if was, ok := contents[f.Version]; ok && was != text {
					p.errorf("two contents have the version %q", f.Version)
					break
				}
				contents[f.Version] = text
			}
			writer.Wait()
		}},
	}
}
