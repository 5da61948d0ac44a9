// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func readRules() []rule {
	return []rule{
		{"a file is read as it is", needsRead, func(p *probe) {
			for name, text := range sorted(map[string]string{"a.txt": "one\r\ntwo", "empty": "", "dir/ü b.bin": "\x00\xff\xfe\n", "-x": "\ufeffbom\n"}) {
				p.put(name, text)
				f, err := p.read(name)
				p.ok(err, "read %s", name)
				p.equal(string(f.Data), text, "read %s", name)
				p.equal(f.Path, p.root(0, name), "path of %s", name)
				p.equal(f.More, false, "More of %s", name)
				if f.Size != -1 {
					p.equal(f.Size, int64(len(text)), "size of %s", name)
				}
				if f.Version == "" || f.Version == workspace.AnyVersion {
					p.errorf("the whole of %s was read, and the version is %q", name, f.Version)
				}
				f, err = p.read(p.root(0, name))
				p.ok(err, "read %s by its absolute path", name)
				p.equal(string(f.Data), text, "read %s by its absolute path", name)
			}
		}},
		{"saved text is read like other text", func(f workspace.Features) bool { return f.Read || f.Saved }, func(p *probe) {
			p.put("dir/f", "one\ntwo\nthree\n")
			for want, r := range sorted(map[string]workspace.Range{
				"one\ntwo\nthree\n": {Saved: true}, "two\n": {Saved: true, Line: 2, Lines: 1},
				"two": {Saved: true, Offset: 4, Limit: 3},
			}) {
				f, err := p.ws.Read(p.ctx, "dir/f", r)
				p.ok(err, "read %+v", r)
				p.equal(string(f.Data), want, "read %+v", r)
			}
			_, err := p.ws.Read(p.ctx, "missing", workspace.Range{Saved: true})
			p.is(err, "read the saved text of %s", "missing", fs.ErrNotExist)
		}},
		{"a file of every root can be read", needsRead, func(p *probe) {
			for i := range p.ws.Roots() {
				path := p.root(i, "sub/file")
				p.must(p.Disk.WriteFile(path, []byte(path), 0o644), "prepare")
				f, err := p.read(path)
				p.ok(err, "read %s", path)
				p.equal(string(f.Data), path, "read %s", path)
			}
		}},
		{"what cannot be read is the error that says why", needsRead, func(p *probe) {
			p.put("file", "text")
			p.must(p.Disk.Mkdir(p.root(0, "dir")), "prepare")
			for path, want := range sorted(map[string]error{
				"missing": fs.ErrNotExist, "no/such/dir": fs.ErrNotExist, "dir": workspace.ErrIsDirectory, ".": workspace.ErrIsDirectory,
				"file/x": workspace.ErrNotDirectory, "file/x/y": workspace.ErrNotDirectory,
			}) {
				_, err := p.read(path)
				p.is(err, "read %s", path, want)
			}
			for path, want := range sorted(map[string]error{"missing": fs.ErrNotExist, "file/x": workspace.ErrNotDirectory}) {
				_, err := p.ws.Stat(p.ctx, path)
				p.is(err, "stat %s", path, want)
			}
		}},
		{"what is neither a file nor a directory is not opened", needsRead, func(p *probe) {
			p.must(p.Disk.Pipe(p.root(0, "pipe")), "prepare")
			_, err := p.read("pipe")
			p.is(err, "read a %s", "pipe", workspace.ErrNotRegular)
			if p.ws.Features().Write {
				_, err = p.ws.Write(p.ctx, "pipe", []byte("x"), workspace.AnyVersion)
				p.is(err, "write a %s", "pipe", workspace.ErrNotRegular)
			}
		}},
		{"ranges select bytes and lines", needsRead, func(p *probe) {
			const text = "one\ntwo\r\nthree\n\nfive"
			p.put("f", text)
			for _, r := range []workspace.Range{
				{}, {Line: 1}, {Line: 2, Lines: 2}, {Lines: 1}, {Line: 5, Lines: 9}, {Line: 6}, {Line: 2, Limit: 6}, {Line: 2, Lines: 2, Limit: 6},
				{Offset: 4, Limit: 3}, {Offset: 4, Limit: 16}, {
					Offset: 99, Limit: 3,
				}, {Limit: 20}, {Limit: 19}, {Offset: 4, Limit: 3, Buf: make([]byte, 3)},
			} {
				want, _ := r.Read(p.ctx, strings.NewReader(text))
				got, err := p.ws.Read(p.ctx, "f", r)
				p.ok(err, "%+v", r)
				p.equal(string(got.Data), string(want.Data), "Data of %+v", r)
				p.equal(got.More, want.More, "More of %+v", r)
				p.equal(got.Lines, want.Lines, "Lines of %+v", r)
			}
		}},
		{"a large file is read in parts", needsRead, func(p *probe) {
			line := strings.Repeat("x", 63) + "\n"
			p.put("large", strings.Repeat(line, 1<<17)) // 8 MiB
			f, err := p.ws.Read(p.ctx, "large", workspace.Range{Offset: 8<<20 - 64, Limit: 100})
			p.ok(err, "read the end")
			p.equal(string(f.Data), line, "the end")
			f, err = p.ws.Read(p.ctx, "large", workspace.Range{Line: 1 << 17, Limit: 100})
			p.ok(err, "read the last line")
			p.equal(string(f.Data), line, "the last line")
			p.equal(f.Lines, 1<<17, "the number of lines")
			whole, err := p.read("large")
			p.ok(err, "read the whole")
			p.equal(len(whole.Data), 8<<20, "the whole")
		}},
		{"a version changes with the contents", needsRead, func(p *probe) {
			p.put("f", "aaaa")
			first, err := p.read("f")
			p.ok(err, "read")
			again, err := p.read("f")
			p.ok(err, "read")
			p.equal(again.Version, first.Version, "the version of an unchanged file")
			info, err := p.ws.Stat(p.ctx, "f")
			p.ok(err, "stat")
			p.equal(info.Version, first.Version, "the version that Stat returns")
			seen := map[workspace.Version]bool{first.Version: true}
			for _, text := range []string{"bbbb", "cccc", "cccc\n", ""} { // of equal length, and at once
				p.put("f", text)
				f, err := p.read("f")
				p.ok(err, "read")
				p.equal(string(f.Data), text, "contents")
				if seen[f.Version] {
					p.errorf("the version %q was that of other contents", f.Version)
				}
				seen[f.Version] = true
			}
		}},
		{"Stat tells files from directories", needsRead, func(p *probe) {
			p.put("dir/f", "12345")
			info, err := p.ws.Stat(p.ctx, "dir/f")
			p.ok(err, "stat a file")
			p.equal(info.Mode.Type(), fs.FileMode(0), "the type of a file")
			p.equal(info.Path, p.root(0, "dir/f"), "the path of a file")
			for _, dir := range []string{"dir", ".", p.root(0, "dir")} {
				info, err = p.ws.Stat(p.ctx, dir)
				p.ok(err, "stat %s", dir)
				p.equal(info.IsDir(), true, "%s is a directory", dir)
				p.equal(info.Version, workspace.Version(""), "the version of a directory")
			}
		}},
		{"links inside are followed", needsRead, func(p *probe) {
			p.put("real/f", "text")
			if !p.link("real", p.root(0, "dir")) || !p.link(p.root(0, "real/f"), p.root(0, "file")) {
				return
			}
			p.link(p.root(0, "."), p.root(0, "self"))
			for _, path := range []string{"dir/f", "file", "self/self/dir/f"} {
				f, err := p.read(path)
				p.ok(err, "read %s", path)
				p.equal(string(f.Data), "text", "read %s", path)
				p.equal(f.Path, p.root(0, path), "the path of %s is as it was named", path)
			}
			if len(p.ws.Roots()) > 1 {
				p.must(p.Disk.WriteFile(p.root(1, "g"), []byte("other"), 0o644), "prepare")
				p.link(p.root(1, "g"), p.root(0, "across"))
				f, err := p.read("across")
				p.ok(err, "read through a link into another root")
				p.equal(string(f.Data), "other", "read through a link into another root")
			}
			p.link("loop", p.root(0, "loop"))
			if _, err := p.read("loop"); err == nil {
				p.errorf("a link to itself was read")
			}
		}},
		{"a context that has ended ends every method with its cause", nil, func(p *probe) {
			p.must(p.Disk.WriteFile(p.root(0, "f"), []byte("x"), 0o644), "prepare")
			cause := errors.New("the cause")
			ctx, cancel := context.WithCancelCause(p.ctx)
			cancel(cause)
			f := p.ws.Features()
			if f.Read {
				_, err := p.ws.Read(ctx, "f", workspace.Range{})
				p.is(err, "%s", "read", cause)
				_, err = p.ws.Stat(ctx, "f")
				p.is(err, "%s", "stat", cause)
			}
			if f.Write {
				_, err := p.ws.Write(ctx, "f", []byte("y"), workspace.AnyVersion)
				p.is(err, "%s", "write", cause)
			}
			if f.Remove {
				p.is(p.ws.Remove(ctx, "f", workspace.AnyVersion), "%s", "remove", cause)
			}
			if f.Walk {
				p.is(p.lastError(ctx, "."), "%s", "walk", cause)
			}
			p.holds(p.root(0, "f"), "x")
		}},
	}
}
