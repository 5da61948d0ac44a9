// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Config configures language servers. The zero value is useful.
type Config struct {
	// Servers are the language servers that may be used. Nil means [Known].
	Servers []Server
	// Run configures how servers run: their environment, and a sandbox. Roots and NoCommands are
	// set for each project.
	Run local.Config
	// Memory is how much memory a server may use, in bytes, with the processes that it starts: 4
	// GiB by default. A server that uses more is ended. Negative means any amount. It is checked
	// every few seconds, on Linux only.
	Memory int64
	// StartTimeout bounds how long a server may take to start, a minute by default. CallTimeout
	// bounds each request to a server, 30 s by default. ReadyTimeout bounds how long a request
	// waits while the server loads the project, 20 s by default.
	StartTimeout, CallTimeout, ReadyTimeout time.Duration
	// Idle is how long a server runs without being used, half an hour by default. Negative means
	// any time.
	Idle time.Duration
	// Client is how this program introduces itself to servers. Its default name is "ponte".
	Client ClientInfo
	// Logger receives what happens to servers, without what they say about the project. Nil means
	// [slog.Default].
	Logger *slog.Logger
}

// ClientInfo identifies a program to servers.
type ClientInfo struct {
	// Name and Version are for logs of servers.
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

var (
	// ErrClosed is wrapped by errors about servers after [Servers.Close].
	ErrClosed = errors.New("the language servers are closed")
	// ErrUnavailable is wrapped by errors about a server that cannot be used now.
	ErrUnavailable = errors.New("the language server is not available")
)

const (
	// settled is how long a server must have lasted for its earlier failures to be forgotten.
	settled = time.Minute
	// patience is how long a call waits for such a delay.
	patience = 3 * time.Second
	// maxFailures is how often a server may fail in a row before it is given up.
	maxFailures = 5
	// closeTimeout bounds how long a server may take to end by itself.
	closeTimeout = time.Second
)

var (
	// firstDelay is the delay before a server is started a second time. It doubles with each
	// failure.
	firstDelay = 500 * time.Millisecond
	// checkInterval is how often memory and idleness of a server are looked at.
	checkInterval = 2 * time.Second
)

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

type lineEnds = lsp.LineEnds

const (
	endsLF = lsp.EndsLF
	endsJS = lsp.EndsJS
)

// check returns all problems of a configuration.
func (c *Config) check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("lsptoolset: config: "+format, args...))
	}
	names := map[string]bool{}
	for i := range c.Servers {
		s := &c.Servers[i]
		switch {
		case !validName.MatchString(s.Name):
			bad(
				"Servers[%d]: Name %q must have 1 to 64 letters, digits, or one of \"._-\"",
				i,
				s.Name,
			)
		case names[s.Name]:
			bad("Servers[%d]: there are two servers called %q", i, s.Name)
		}
		names[s.Name] = true
		if len(s.Command) == 0 || s.Command[0] == "" {
			bad("server %q: Command is empty", s.Name)
		}
		for n, v := range s.Env {
			if name, _, ok := strings.Cut(v, "="); !ok || name == "" { // it may be a secret
				bad("server %q: Env[%d] is not of the form NAME=value", s.Name, n)
			}
		}
		if len(s.Files) == 0 {
			bad("server %q: Files is empty: name the extensions that the server is for", s.Name)
		}
		for ext, language := range s.Files {
			if !strings.HasPrefix(ext, ".") || language == "" {
				bad(
					"server %q: Files has %q: %q; use an extension such as \".go\" and a language",
					s.Name,
					ext,
					language,
				)
			}
		}
	}
	if c.StartTimeout < 0 || c.CallTimeout < 0 || c.ReadyTimeout < 0 {
		bad("StartTimeout, CallTimeout and ReadyTimeout must not be negative")
	}
	if c.Run.OutputLimit < 0 || c.Run.TimeLimit < 0 {
		bad("Run.OutputLimit and Run.TimeLimit must not be negative")
	}
	return errors.Join(errs...)
}

func (c *Config) defaults() {
	if c.Servers == nil {
		c.Servers = Known()
	}
	c.Servers = slices.Clone(c.Servers)
	for i := range c.Servers {
		files := make(map[string]string, len(c.Servers[i].Files))
		for ext, language := range c.Servers[i].Files {
			files[strings.ToLower(ext)] = language
		}
		c.Servers[i].Files = files
	}
	c.Memory = cmp.Or(c.Memory, 4<<30)
	c.StartTimeout = cmp.Or(c.StartTimeout, time.Minute)
	c.CallTimeout = cmp.Or(c.CallTimeout, 30*time.Second)
	c.ReadyTimeout = cmp.Or(c.ReadyTimeout, 20*time.Second)
	c.Idle = cmp.Or(c.Idle, 30*time.Minute)
	c.Client.Name = cmp.Or(c.Client.Name, "ponte")
	c.Logger = cmp.Or(c.Logger, slog.Default())
}
