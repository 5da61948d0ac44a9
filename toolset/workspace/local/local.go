// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Config describes a workspace. The zero value is the working directory of this process.
type Config struct {
	// Roots are the directories of the workspace; the first is its working directory. A relative
	// one begins at the working directory of this process. The default is ".".
	Roots []string
	// NoCommands leaves out commands. The workspace then has files only.
	NoCommands bool
	// OutputLimit is how many bytes of the end of a command's output are kept; the default is
	// 1 MiB. Of a longer output, a quarter of that is kept of the beginning, too.
	OutputLimit int
	// TimeLimit is how long a command may run before it is ended as [workspace.Process.Kill] does;
	// 0 means any time.
	TimeLimit time.Duration
	// Grace is the time between SIGTERM and SIGKILL when a command is ended; the default is half a
	// second. A negative value means SIGKILL at once.
	Grace time.Duration
	// Env is the environment from which commands get their variables. The default is the
	// environment of this process. Commands get its ordinary variables, such as PATH and LANG
	// (docs/local.md lists them), the variables in PassEnv, and what [workspace.Command] adds.
	Env []string
	// PassEnv are names of further variables that commands get. "*" matches any text: "*" alone
	// passes everything, secrets too.
	PassEnv []string
	// Sandbox, if not nil, runs commands in a sandbox.
	Sandbox *Sandbox
}

// Workspace is files and commands of this machine. It is safe for concurrent use.
type Workspace struct {
	config *Config
	roots  []root
	named  []string // the paths of the roots, as users know them
	real   []string // what they lead to
	env    func() []string
	box    box // the sandbox, nil without one
	// unboxed is why there is none, if one was configured
	unboxed error

	mu        sync.Mutex
	nextID    int
	processes map[*process]struct{}
	connected map[*Connection]struct{}
	closed    bool
}

var (
	_ workspace.Workspace = (*Workspace)(nil)
	_ workspace.Linked    = (*Workspace)(nil)
	_ workspace.Follower  = (*Workspace)(nil)
	_ workspace.Applier   = (*Workspace)(nil)
)

// root is a directory of the workspace.
type root struct {
	*os.Root
	real string // its path, without symbolic links
}

const defaultOutput = 1 << 20

// Open opens a workspace. A root that does not exist, or that is a file, is a
// [*workspace.PathError]. A sandbox that this machine cannot have is [ErrSandbox].
func Open(c Config) (*Workspace, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	w := &Workspace{config: &c, processes: map[*process]struct{}{}}
	if len(c.Roots) == 0 {
		c.Roots = []string{"."}
	}
	if c.OutputLimit == 0 {
		w.config.OutputLimit = defaultOutput
	}
	for _, name := range c.Roots {
		if err := w.addRoot(name); err != nil {
			w.closeRoots()
			return nil, &workspace.PathError{Op: "open", Path: name, Err: reason(err)}
		}
	}
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	env = guard.Environ(env, c.PassEnv)
	w.env, w.config.Env = func() []string { return env }, nil // nothing prints functions
	if c.Sandbox != nil && !c.NoCommands {
		box, err := c.Sandbox.open(w)
		switch {
		case err == nil:
			w.box = box
		case c.Sandbox.Optional && errors.Is(err, ErrSandbox):
			w.box, w.unboxed = c.Sandbox.orWeaker(w, err)
		default:
			w.closeRoots()
			return nil, err
		}
	}
	return w, nil
}

// check reports what would be ignored. Its errors have no values, which may be secrets. Entries of
// Env without a value are no mistake: a process may have inherited them.
func (c *Config) check() error {
	var errs []error
	if c.OutputLimit < 0 || c.TimeLimit < 0 {
		err := errors.New("local: config: OutputLimit and TimeLimit must not be negative")
		errs = append(errs, err)
	}
	for _, name := range c.PassEnv {
		if name, _, found := strings.Cut(name, "="); found || name == "" {
			errs = append(errs, fmt.Errorf("local: config: PassEnv has %q with a value, "+
				"or an empty name: it lists names; values are in Env", name))
		}
	}
	return errors.Join(errs...)
}

func (w *Workspace) addRoot(name string) error {
	style := workspace.Slash
	if runtime.GOOS == "windows" {
		style = workspace.Windows
	}
	cwd, err := os.Getwd()
	if err != nil && !filepath.IsAbs(name) {
		return err
	}
	abs, err := style.Abs(cwd, name)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() { // OpenRoot would wait for the other end of a pipe
		return workspace.ErrNotDirectory
	}
	r, err := os.OpenRoot(real)
	if err != nil {
		return err
	}
	w.roots, w.named, w.real = append(w.roots, root{r, real}), append(w.named, abs), append(w.real, real)
	return nil
}

func (w *Workspace) closeRoots() {
	for _, r := range w.roots {
		_ = r.Close()
	}
}

// Roots implements [workspace.Workspace].
func (w *Workspace) Roots() []string { return w.named }

// RealRoots implements [workspace.Linked].
func (w *Workspace) RealRoots() []string { return w.real }

// Features implements [workspace.Workspace].
func (w *Workspace) Features() workspace.Features {
	f := workspace.Features{Read: true, Write: true, Remove: true, Walk: true}
	f.Commands = !w.config.NoCommands && canRun
	if w.box != nil {
		f.Sandboxed, f.Unsandboxed = w.box.tight(), w.config.Sandbox.MayLeave
	}
	return f
}

// Close ends all commands, with everything they started, and waits for that. After it every method
// returns [workspace.ErrClosed]. Close may be called several times.
func (w *Workspace) Close() error {
	w.mu.Lock()
	w.closed = true
	all := make([]*process, 0, len(w.processes))
	for p := range w.processes {
		all = append(all, p)
	}
	connected := slices.Collect(maps.Keys(w.connected))
	w.mu.Unlock()
	var done sync.WaitGroup
	for _, c := range connected {
		done.Go(func() { _ = c.Close() })
	}
	for _, p := range all {
		done.Go(p.shut)
	}
	done.Wait()
	w.closeRoots()
	if w.box != nil {
		w.box.close()
	}
	return nil
}

// within returns the root that a path without links lies in, and the path relative to it.
func (w *Workspace) within(real string) (root, string, bool) {
	for _, r := range w.roots {
		if rel, ok := relative(r.real, real); ok {
			return r, rel, true
		}
	}
	return root{}, "", false
}

// relative returns the clean path name relative to dir, if it lies in it.
func relative(dir, name string) (string, bool) {
	rel, err := filepath.Rel(dir, name)
	return rel, err == nil && filepath.IsLocal(rel)
}

// wrapError returns err as an error about a path, nil if it is nil.
func wrapError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &workspace.PathError{Op: op, Path: path, Err: reason(err)}
}

var errTooManyLinks = fmt.Errorf("%w: too many symbolic links", workspace.ErrPath)

// errEscapes is the error of os.Root for a path that leads out of it.
var errEscapes = func() error {
	r, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return errors.New("no temporary directory")
	}
	defer r.Close()
	_, err = r.Lstat("..")
	return errors.Unwrap(err)
}()

// reason returns the reason of an error of package os, as package workspace knows it.
func reason(err error) error {
	for _, known := range []error{workspace.ErrPath, workspace.ErrOutside, workspace.ErrIsDirectory, workspace.ErrNotDirectory, workspace.ErrNotRegular, workspace.ErrChanged, workspace.ErrTooLarge} {
		if errors.Is(err, known) {
			return err
		}
	}
	inner := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		inner = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		inner = e.Err
	}
	switch {
	case errors.Is(inner, errEscapes):
		return workspace.ErrOutside
	case errors.Is(inner, os.ErrClosed):
		return workspace.ErrClosed
	case slices.ContainsFunc(notDirectory, func(e error) bool { return errors.Is(inner, e) }):
		return workspace.ErrNotDirectory
	case slices.ContainsFunc(isDirectory, func(e error) bool { return errors.Is(inner, e) }):
		return workspace.ErrIsDirectory
	case slices.ContainsFunc(tooLong, func(e error) bool { return errors.Is(inner, e) }):
		return fmt.Errorf("%w: a name in it is too long", workspace.ErrPath)
	case slices.ContainsFunc(tooManyLinks, func(e error) bool { return errors.Is(inner, e) }):
		return errTooManyLinks
	}
	return inner
}

// Format implements [fmt.Formatter]. It hides the values of Env.
func (c Config) Format(f fmt.State, verb rune) { hide.Format(f, verb, c.shown()) }

// MarshalJSON implements [json.Marshaler]. It hides the values of Env.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.shown()) }

type shownConfig Config

func (c Config) shown() shownConfig {
	c.Env = hide.Env(c.Env)
	return shownConfig(c)
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (w *Workspace) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "local.Workspace("+strings.Join(w.named, ", ")+")")
}
