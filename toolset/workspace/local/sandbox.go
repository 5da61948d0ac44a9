// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Sandbox restricts commands with bubblewrap (bwrap), on Linux. A command sees the
// machine's files, but
//
//   - it can write only to the roots of the workspace, to Writable, to its caches and its own /tmp,
//   - it cannot change what is protected, nor what is above that in a root,
//   - what is hidden is empty for it, and so is /run,
//   - it has no network and no Unix sockets, unless they are allowed,
//   - it sees only its own processes, which all end with it, and has no capabilities, even as root.
//
// If the machine cannot do that, opening a workspace fails: commands never run without the sandbox
// that was asked for. The tools for files are not affected: they reach the roots only, with or
// without a sandbox.
//
// Starting a command marks the files that this process has open as not inherited, as Go does with
// those that it opens itself.
type Sandbox struct {
	// Network lets commands use the network of the machine. Otherwise they have a private one,
	// which leads nowhere.
	Network bool
	// Sockets lets commands use Unix sockets, also sockets of other programs, such as the user's
	// ssh-agent. Pairs of sockets always work.
	Sockets bool
	// MayLeave lets a command run with the network, or outside of the sandbox, if it asks for that
	// ([workspace.Command].Sandbox). The tools of package workspace then ask the user. Otherwise
	// such a command fails.
	MayLeave bool
	// Optional opens the workspace also if this machine cannot have the sandbox. Commands then run
	// without it, and [Workspace.Unsandboxed] says why. If the program calls [Helper], Landlock
	// restricts them on Linux. On macOS the system's own sandbox does. Either is weaker, and each
	// command is asked about as without a sandbox: [workspace.Features].Sandboxed is not set.
	Optional bool
	// Writable are further directories and files that commands can write to, such as the caches of
	// compilers. They must exist.
	Writable []string
	// Protected are names of files and directories that commands cannot change, wherever they are
	// in a root. A name has slashes between its elements; the element "*" matches any name, and the
	// last one may have a "*" in it. Nil means those that other programs execute or obey: git's
	// hooks and configuration, tasks of editors, start-up files of shells and more (docs/local.md).
	//
	// Only what exists when a command starts can be protected, and only within the first levels of
	// a root. Other protected files that a command creates are reported: see
	// [workspace.Exit.Created].
	Protected []string
	// Hidden are files and directories that commands see as empty. Nil means [Hidden].
	Hidden []string
	// Unreadable reports whether a file of a root, by its absolute path, must not be read. Commands
	// see it as empty. It is asked about the files that exist when a command starts, within the
	// levels of Protected, and may be called for several commands at once. Nil means that all may
	// be read. The weaker sandbox of Linux does not hide these files.
	Unreadable func(path string) bool `json:"-"`
	// Cache is a directory for caches of compilers and package managers. It is created if it is
	// missing. Each set of roots has a directory of its own in it, because who can write to a cache
	// can change what later builds run. Empty means a directory that is removed with the workspace.
	Cache string
	// CacheOf is a directory whose cache is used instead of that of the roots, such as the one that
	// the root is a copy of.
	CacheOf string
}

// ErrSandbox means that this machine cannot run commands in a sandbox. The error says why. It wraps
// [errors.ErrUnsupported].
var ErrSandbox error = fmt.Errorf("local: no sandbox: %w", errors.ErrUnsupported)

// Unsandboxed returns why commands run without the sandbox that was configured, or nil. It is an
// [ErrSandbox].
func (w *Workspace) Unsandboxed() error { return w.unboxed }

// orWeaker returns the weaker sandbox of this machine, nil if it has none, and why it is not the
// one that was configured.
func (s *Sandbox) orWeaker(w *Workspace, why error) (box, error) {
	weaker, err := s.openWeaker(w)
	if err != nil {
		return nil, fmt.Errorf("%w; nor a weaker one: %w", why, err)
	}
	return weaker, fmt.Errorf("%w; they run in a weaker one, and each is asked about", why)
}

// boxes reports whether a command runs in the sandbox. It is an error if it may not leave it.
func (w *Workspace) boxes(c *workspace.Command) (boxed bool, err error) {
	if w.box == nil {
		return false, nil
	}
	if c.Sandbox != "" && !w.config.Sandbox.MayLeave {
		return true, fmt.Errorf("local: start: commands must not leave the sandbox: %w",
			errors.ErrUnsupported)
	}
	return c.Sandbox != model.SandboxNone, nil
}

// started belongs to a command that is started.
type started struct {
	// program is what runs, in the sandbox if there is one.
	program string
	// done releases what the start needs; nil without a sandbox.
	done func()
	// created returns what is protected and was not there when the command started; nil without a
	// sandbox.
	created func() []string
}

func (s started) release() {
	if s.done != nil {
		s.done()
	}
}

// box is a sandbox that was opened.
type box interface {
	// wrap makes a command one that runs in the sandbox. real is its directory, and dir what the
	// user calls that. With network set, the command has the network.
	wrap(g *guard.Command, real, dir string, network bool) (started, error)
	// tight reports whether the sandbox keeps all that [model.EffectSandbox] says.
	tight() bool
	close()
}
