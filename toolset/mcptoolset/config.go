// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/internal/nearest"
	"github.com/ponte-go/ponte/internal/serverfile"
)

// ServerConfig is a server in a configuration file.
type ServerConfig struct {
	// Name is the server's name in the file, with underscores for characters that [Config.Name]
	// cannot have.
	Name string
	// Transport is a [Command], [HTTP] or [SSE].
	Transport Transport
	// Disabled reports that the file turns the server off.
	Disabled bool
}

// String returns the name and the transport, without secrets.
func (c ServerConfig) String() string {
	if c.Transport == nil {
		return c.Name
	}
	return c.Name + " (" + c.Transport.String() + ")"
}

// Format implements [fmt.Formatter]. No verb prints secrets.
func (c ServerConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue implements [slog.LogValuer].
func (c ServerConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON returns what String does. The file is not written back, because the variables in it
// have been replaced by secrets.
func (c ServerConfig) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

var serverFields = []string{"type", "command", "args", "env", "cwd", "url", "headers", "disabled"}

// ParseConfig reads a configuration in the form that other programs use:
//
//	{
//	  "mcpServers": {
//	    "files":  {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}"]},
//	    "issues": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
//	  }
//	}
//
// The members of a server are command, args, env and cwd, or url and headers; type, which is
// "stdio", "http" (the default with a url) or "sse"; and disabled. Other members are errors,
// because a setting must not be ignored. Other members beside mcpServers are ignored, because
// programs keep their own settings there.
//
// ${NAME} is replaced by an environment variable, which must be set, and ${NAME:-default} by a
// default if it is not set or empty. Lookup finds variables; nil means [os.LookupEnv].
//
// The servers are sorted by name. Errors name the server and the member, and never a value.
func ParseConfig(data []byte, lookup func(name string) (string, bool)) ([]ServerConfig, error) {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("mcptoolset: configuration: %w", syntax(data, err))
	}
	raw, ok := top["mcpServers"]
	if !ok {
		return nil, fmt.Errorf(`mcptoolset: configuration: "mcpServers" is missing%s`, instead(
			"mcpServers", slices.Sorted(maps.Keys(top)),
		))
	}
	var servers map[string]json.RawMessage
	if err := json.Unmarshal(raw, &servers); err != nil {
		return nil, errors.New(`mcptoolset: configuration: "mcpServers" must be an object with a member for each server`)
	}
	var list []ServerConfig
	var errs []error
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		c, err := parseServer(name, servers[name], lookup)
		if other, twice := names[c.Name]; twice && err == nil {
			err = fmt.Errorf("its name becomes %q, the same as that of %q: rename one of them", c.Name, other)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("mcptoolset: configuration: server %q: %w", visible(name, 100), err))
			continue
		}
		names[c.Name] = name
		list = append(list, c)
	}
	return list, errors.Join(errs...)
}

// syntax adds the line to an error of encoding/json.
func syntax(data []byte, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: not valid JSON", 1+bytes.Count(
			data[:min(int(e.Offset), len(data))], []byte("\n"),
		))
	}
	return errors.New("must be a JSON object")
}

// instead suggests the member that was probably meant.
func instead(name string, among []string) string {
	if near := nearest.Of(name, slices.Values(among)); near != "" {
		return fmt.Sprintf(": did you mean it by %q?", visible(near, 100))
	}
	return ""
}

func parseServer(name string, raw json.RawMessage, lookup func(string) (string, bool)) (ServerConfig, error) {
	c := ServerConfig{Name: ServerName(name)}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return ServerConfig{}, errors.New("must be an object")
	}
	if c.Name == "" {
		return ServerConfig{}, errors.New("has no name")
	}
	for _, m := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(serverFields, m) {
			continue
		}
		if near := nearest.Of(m, slices.Values(serverFields)); near != "" {
			return ServerConfig{}, fmt.Errorf("unknown member %q: did you mean %q?", visible(m, 100), near)
		}
		return ServerConfig{}, fmt.Errorf(
			"unknown member %q: the members are %s", visible(m, 100),
			strings.Join(serverFields, ", "),
		)
	}
	var s serverfile.MCP
	for _, m := range []struct {
		name string
		into any
		want string
	}{
		{"type", &s.Type, "a string"}, {"command", &s.Command, "a string"}, {"args", &s.Args, "a list of strings"},
		{"env", &s.Env, "an object of strings"}, {"cwd", &s.Cwd, "a string"}, {"url", &s.URL, "a string"},
		{"headers", &s.Headers, "an object of strings"}, {"disabled", &s.Disabled, "true or false"},
	} {
		if value, ok := members[m.name]; ok && json.Unmarshal(value, m.into) != nil {
			return ServerConfig{}, fmt.Errorf("%s must be %s", m.name, m.want)
		}
	}
	if c.Disabled = s.Disabled; c.Disabled {
		lookup = func(string) (string, bool) { return "", true } // its variables need not be set
	}
	if err := expandAll(&s, lookup); err != nil {
		return ServerConfig{}, err
	}
	var err error
	if c.Transport, err = transportOf(&s); err == nil {
		err = c.Transport.check()
	}
	if c.Disabled {
		err = nil
	}
	return c, err
}

// ServerName makes a [Config.Name] of any name: characters that it cannot have become underscores.
func ServerName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' {
			r = '_'
		}
		b.WriteRune(r)
	}
	text := b.String()
	return text[:min(len(text), 32)]
}

// transportOf returns the transport that a server's members describe.
func transportOf(s *serverfile.MCP) (Transport, error) {
	local, remote := s.Command != "", s.URL != ""
	switch {
	case local && remote:
		return nil, errors.New("has both command and url: remove one of them")
	case !local && !remote:
		return nil, errors.New("needs command or url")
	case local && s.Headers != nil:
		return nil, errors.New("headers need url, not command")
	case remote && (s.Args != nil || s.Env != nil || s.Cwd != ""):
		return nil, errors.New("args, env and cwd need command, not url")
	}
	switch kind := strings.ToLower(s.Type); {
	case local && (kind == "" || kind == "stdio"):
		c := Command{Path: s.Command, Args: s.Args, Dir: s.Cwd}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			c.Env = append(c.Env, name+"="+s.Env[name])
		}
		return c, nil
	case remote && (kind == "" || kind == "http" || kind == "streamable-http" || kind == "streamablehttp"):
		return HTTP{URL: s.URL, Headers: s.Headers}, nil
	case remote && kind == "sse":
		return SSE{URL: s.URL, Headers: s.Headers}, nil
	case kind == "stdio" || kind == "http" || kind == "sse":
		return nil, fmt.Errorf("type %q does not go with its other members", s.Type)
	}
	return nil, fmt.Errorf(`type %q is not known: use "stdio", "http" or "sse"`, visible(s.Type, 100))
}

// expandAll replaces the variables in all members.
func expandAll(s *serverfile.MCP, lookup func(string) (string, bool)) error {
	var errs []error
	replace := func(member string, text *string) {
		expanded, err := expand(*text, lookup)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", member, err))
		}
		*text = expanded
	}
	replace("command", &s.Command)
	replace("cwd", &s.Cwd)
	replace("url", &s.URL)
	for i := range s.Args {
		replace(fmt.Sprintf("args[%d]", i), &s.Args[i])
	}
	for _, m := range []struct {
		name   string
		values map[string]string
	}{{"env", s.Env}, {"headers", s.Headers}} {
		for _, key := range slices.Sorted(maps.Keys(m.values)) {
			value := m.values[key]
			replace(m.name+"."+visible(key, 100), &value)
			m.values[key] = value
		}
	}
	return errors.Join(errs...)
}

// expand replaces ${NAME} and ${NAME:-default}.
func expand(text string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New(`"${" has no "}"`)
		}
		name, or, has := strings.Cut(inside, ":-")
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
		}) {
			return "", errors.New(`"${…}" must have the name of an environment variable`)
		}
		value, set := lookup(name)
		switch {
		case set && (value != "" || !has):
			b.WriteString(value)
		case has:
			b.WriteString(or)
		default:
			return "", fmt.Errorf(
				"the environment variable %s is not set: set it, or write ${%s:-default}", name,
				name,
			)
		}
		text = after
	}
}

// LoadConfig reads a configuration from a file. See [ParseConfig].
func LoadConfig(name string) ([]ServerConfig, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("mcptoolset: configuration: %w", err)
	}
	return ParseConfig(data, nil)
}

// Open makes the servers of a configuration, without those that are disabled. Base has what they
// have in common; its Name and Transport are not used. If there is an error, no server is made.
func Open(configs []ServerConfig, base Config) ([]*Server, error) {
	var servers []*Server
	for _, c := range configs {
		if c.Disabled {
			continue
		}
		config := base
		config.Name, config.Transport = c.Name, c.Transport
		s, err := New(config)
		if err != nil {
			return nil, errors.Join(err, Close(servers...))
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// Close closes servers at the same time.
func Close(servers ...*Server) error {
	errs := make([]error, len(servers))
	var work sync.WaitGroup
	for i, s := range servers {
		work.Go(func() { errs[i] = s.Close() })
	}
	work.Wait()
	return errors.Join(errs...)
}
