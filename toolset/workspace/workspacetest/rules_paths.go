// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"errors"
	"sync"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func pathRules() []rule {
	return []rule{
		{"no path leads out", nil, func(p *probe) { p.escapes() }},
		{"odd names inside are names like others", needsWrite, func(p *probe) {
			if p.style() == workspace.Windows {
				return
			}
			for _, name := range []string{"..a", "...", "~", "~root/x", "$HOME", "%2e%2e", "%2e%2e%2fsecret", "a b\tc", "C:\\x", `..\x`, `\\srv\share`, "NUL", "con.txt", "a:b", "-rf", "．．", "é", "*", "fil:x"} {
				_, err := p.ws.Write(p.ctx, name, []byte(name), "")
				if err != nil && hostIsWindows {
					continue
				}
				if p.ok(err, "write %q", name) {
					p.holds(p.root(0, name), name)
				}
			}
		}},
		{"paths are cleaned before links are followed", needsRead, func(p *probe) {
			p.put("f", "right")
			p.put("a/b/c", "")
			p.put("a/f", "wrong")
			if !p.link("a/b", p.root(0, "link")) {
				return
			}
			f, err := p.read("link/../f")
			p.ok(err, "read link/../f")
			p.equal(string(f.Data), "right", "read link/../f")
			f, err = p.read("missing/../f")
			p.ok(err, "read missing/../f")
			p.equal(string(f.Data), "right", "read missing/../f")
		}},
		{"a URI names the file that its path names", needsRead, func(p *probe) {
			if p.style() == workspace.Windows || hostIsWindows {
				return
			}
			p.put("a b#?.txt", "text")
			for _, uri := range []string{"file://" + p.root(0, "a%20b%23%3F.txt"), "file://localhost" + p.root(0, "%61%20b%23%3f.txt")} {
				f, err := p.read(uri)
				p.ok(err, "read %s", uri)
				p.equal(string(f.Data), "text", "read %s", uri)
				p.equal(f.Path, p.root(0, "a b#?.txt"), "the path of %s", uri)
			}
		}},
		{"a link that changes while it is used leads nowhere", needsWrite, func(p *probe) {
			if p.Unheld {
				return
			}
			p.must(p.Disk.WriteFile(p.out("f"), []byte("secret"), 0o644), "prepare")
			p.put("real/f", "harmless")
			if !p.link("real", p.root(0, "swapped")) {
				return
			}
			stop := make(chan struct{})
			var swapper sync.WaitGroup
			swapper.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					target := "real"
					if i%2 == 0 {
						target = p.Outside
					}
					if p.Disk.Remove(p.root(0, "swapped")) == nil {
						_ = p.Disk.Symlink(target, p.root(0, "swapped"))
					}
				}
			})
			for range 300 {
				if f, err := p.read("swapped/f"); err == nil && string(f.Data) == "secret" {
					p.errorf("a file outside was read")
					break
				}
				_, _ = p.ws.Write(p.ctx, "swapped/new", []byte("x"), workspace.AnyVersion)
				_, _ = p.ws.Write(p.ctx, "swapped/f", []byte("harmless"), workspace.AnyVersion)
			}
			close(stop)
			swapper.Wait()
			p.holds(p.out("f"), "secret")
			p.absent(p.out("new"))
		}},
	}
}

// prepareEscapes makes what [Escapes] speaks of.
func (p *probe) prepareEscapes() {
	p.must(p.Disk.WriteFile(p.out("secret"), []byte("secret"), 0o644), "prepare")
	p.must(p.Disk.WriteFile(p.out("sub/secret"), []byte("secret"), 0o644), "prepare")
	p.put("real/f", "harmless")
	for name, target := range sorted(Links(p.ws, p.Outside)) {
		if !p.link(target, p.root(0, name)) {
			return
		}
	}
}

func (p *probe) escapes() {
	p.prepareEscapes()
	f := p.ws.Features()
	for _, e := range Escapes(p.ws, p.Outside) {
		refused := func(op string, err error) {
			if !p.isRefusal(err) {
				p.errorf("%s %q: got the error %v, want ErrOutside or ErrPath", op, short(e.Name), err)
			}
		}
		if f.Read || f.Saved {
			file, err := p.ws.Read(p.ctx, e.Name, workspace.Range{Saved: true, Limit: 100})
			refused("read the saved text of", err)
			if len(file.Data) > 0 {
				p.errorf("read of the saved text of %q returned %d bytes", e.Name, len(file.Data))
			}
		}
		if f.Read {
			file, err := p.read(e.Name)
			refused("read", err)
			if len(file.Data) > 0 {
				p.errorf("read %q returned %d bytes", e.Name, len(file.Data))
			}
			_, err = p.ws.Read(p.ctx, e.Name, workspace.Range{Line: 1, Lines: 1})
			refused("read a line of", err)
			_, err = p.ws.Stat(p.ctx, e.Name)
			refused("stat", err)
		}
		if f.Write {
			for _, v := range []workspace.Version{"", workspace.AnyVersion} {
				_, err := p.ws.Write(p.ctx, e.Name, []byte("overwritten"), v)
				refused("write", err)
			}
		}
		if f.Remove && !e.Link {
			refused("remove", p.ws.Remove(p.ctx, e.Name, workspace.AnyVersion))
		}
		if f.Walk {
			var last error
			for info, err := range p.ws.Walk(p.ctx, e.Name, workspace.WalkOptions{Depth: 1}) {
				if last = err; err == nil {
					p.errorf("walk %q listed %s", e.Name, info.Path)
					break
				}
			}
			refused("walk", last)
		}
		if f.Commands && e.Name != "" {
			process, err := p.ws.Start(p.ctx, workspace.Command{Args: p.program("exit", "0"), Dir: e.Name})
			refused("start a command in", err)
			if err == nil {
				_ = process.Close(p.ctx)
			}
		}
	}
	p.holds(p.out("secret"), "secret")
	p.holds(p.out("sub/secret"), "secret")
	for _, name := range []string{"new", "x", "newdir", "missing"} {
		p.absent(p.out(name))
	}
	p.holds(p.root(0, "real/f"), "harmless")
}

// isRefusal reports whether an error refuses a path that leads nowhere.
func (p *probe) isRefusal(err error) bool {
	return errors.Is(err, workspace.ErrOutside) || errors.Is(err, workspace.ErrPath)
}
