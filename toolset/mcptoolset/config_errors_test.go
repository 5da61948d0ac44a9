// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mistakes of a configuration are told with the name of the server and of the member, which are cut
// at a hundred bytes.
func TestMistakesOfConfigurationsAreTold(t *testing.T) {
	unset := func(name string) (string, bool) { return "", name == "EMPTY" }
	long := func(prefix string, n int) string { return prefix + strings.Repeat("x", n-len(prefix)) }
	server := func(name, members string) string {
		quoted, err := json.Marshal(name)
		require.NoError(t, err)
		return `{"mcpServers":{` + string(quoted) + `:` + members + `}}`
	}
	const at = "mcptoolset: configuration: "
	const members = "the members are type, command, args, env, cwd, url, headers, disabled"
	for _, c := range []struct{ text, want string }{
		{`{`, at + "line 1: not valid JSON"}, {"{\n\n", at + "line 3: not valid JSON"}, {"[]", at + "must be a JSON object"}, {"{}", at + `"mcpServers" is missing`},
		{`{"mcpServers":1}`, at + `"mcpServers" must be an object with a member for each server`}, {`{"mcpserver":{}}`, at + `"mcpServers" is missing: did you mean it by "mcpserver"?`},
		{server("a", "1"), at + `server "a": must be an object`}, {server("", "{}"), at + `server "": has no name`},
		{server("a", `{"x":1}`), at + `server "a": unknown member "x": ` + members}, {server("a", `{"commnd":1}`), at + `server "a": unknown member "commnd": did you mean "command"?`},
		{server("a", `{"`+long("y", 100)+`":1}`), at + `server "a": unknown member "` + long("y", 100) + `": ` + members}, {server("a", `{"`+long("y", 101)+`":1}`), at + `server "a": unknown member "` + long("y", 100) + `…": ` + members},
		{server(long("n", 100), "1"), at + `server "` + long("n", 100) + `": must be an object`}, {server(long("n", 101), "1"), at + `server "` + long("n", 100) + `…": must be an object`},
		{server("a", `{"type":1}`), at + `server "a": type must be a string`}, {server("a", `{"command":1}`), at + `server "a": command must be a string`}, {server("a", `{"args":"x"}`), at + `server "a": args must be a list of strings`},
		{server("a", `{"env":[]}`), at + `server "a": env must be an object of strings`}, {server("a", `{"cwd":1}`), at + `server "a": cwd must be a string`}, {server("a", `{"url":1}`), at + `server "a": url must be a string`},
		{server("a", `{"headers":1}`), at + `server "a": headers must be an object of strings`}, {server("a", `{"disabled":1}`), at + `server "a": disabled must be true or false`},
		{server("a", `{}`), at + `server "a": needs command or url`}, {server("a", `{"command":"x","url":"http://y"}`), at + `server "a": has both command and url: remove one of them`}, {server("a", `{"command":"x","headers":{}}`), at + `server "a": headers need url, not command`},
		{server("a", `{"url":"http://x","args":[]}`), at + `server "a": args, env and cwd need command, not url`}, {server("a", `{"url":"http://x","env":{}}`), at + `server "a": args, env and cwd need command, not url`}, {server("a", `{"url":"http://x","cwd":"y"}`), at + `server "a": args, env and cwd need command, not url`},
		{server("a", `{"command":"x","type":"sse"}`), at + `server "a": type "sse" does not go with its other members`}, {server("a", `{"url":"http://x","type":"stdio"}`), at + `server "a": type "stdio" does not go with its other members`}, {server("a", `{"command":"x","type":"HTTP"}`), at + `server "a": type "HTTP" does not go with its other members`},
		{server("a", `{"command":"x","type":"`+long("t", 101)+`"}`), at + `server "a": type "` + long("t", 100) + `…" is not known: use "stdio", "http" or "sse"`},
		{server("a", `{"url":"ftp://x"}`), at + `server "a": the URL must begin with http:// or https://`},
		{server("a", `{"command":"${A}","cwd":"${","args":["${B}","${}"],"env":{"`+long("k", 101)+`":"${C}"}}`), at + "server \"a\": command: the environment variable A is not set: set it, or write ${A:-default}\ncwd: \"${\" has no \"}\"\nargs[0]: the environment variable B is not set: set it, or write ${B:-default}\n" +
			"args[1]: \"${…}\" must have the name of an environment variable\nenv." + long("k", 100) + "…: the environment variable C is not set: set it, or write ${C:-default}"},
		{server("a", `{"url":"${U}","headers":{"b":"${H}"}}`), at + "server \"a\": url: the environment variable U is not set: set it, or write ${U:-default}\nheaders.b: the environment variable H is not set: set it, or write ${H:-default}"},
		{`{"mcpServers":{"a b":{"command":"x"},"a_b":{"command":"x"},"c":1}}`, at + "server \"a_b\": its name becomes \"a_b\", the same as that of \"a b\": rename one of them\n" + at + `server "c": must be an object`},
	} {
		_, err := ParseConfig([]byte(c.text), unset)
		require.EqualError(t, err, c.want, c.text)
	}
	for _, c := range []struct {
		text string
		want ServerConfig
	}{
		{server("a", `{"command":"x"}`), ServerConfig{Name: "a", Transport: Command{Path: "x"}}}, {server("a", `{"command":"x","type":"STDIO","env":{"B":"1","A":"2"}}`), ServerConfig{Name: "a", Transport: Command{Path: "x", Env: []string{"A=2", "B=1"}}}},
		{server("a", `{"url":"http://x"}`), ServerConfig{Name: "a", Transport: HTTP{URL: "http://x"}}}, {server("a", `{"url":"http://x","type":"Streamable-HTTP"}`), ServerConfig{Name: "a", Transport: HTTP{URL: "http://x"}}}, {server("a", `{"url":"http://x","type":"streamableHttp"}`), ServerConfig{Name: "a", Transport: HTTP{URL: "http://x"}}},
		{server("a", `{"url":"http://x","type":"http","headers":{"b":"c"}}`), ServerConfig{Name: "a", Transport: HTTP{URL: "http://x", Headers: map[string]string{"b": "c"}}}}, {server("a", `{"url":"http://x","type":"sse"}`), ServerConfig{Name: "a", Transport: SSE{URL: "http://x"}}},
		{server("a", `{"disabled":true}`), ServerConfig{Name: "a", Disabled: true}}, {server("a", `{"command":"${U}x","disabled":true}`), ServerConfig{Name: "a", Disabled: true, Transport: Command{Path: "x"}}},
		{server("a", `{"command":"${EMPTY:-d}${EMPTY}${U:-}${U:-a:-b}}"}`), ServerConfig{Name: "a", Transport: Command{Path: "da:-b}"}}},
	} {
		got, err := ParseConfig([]byte(c.text), unset)
		require.NoError(t, err, c.text)
		require.Equal(t, []ServerConfig{c.want}, got, c.text)
	}
	require.Equal(t, "a", ServerConfig{Name: "a"}.String())
	_, err := New(Config{Name: "-", ConnectTimeout: -1, Limits: Limits{Media: -1}, ProtocolVersion: "0", Sampling: "x"})
	require.ErrorContains(t, err, "mcptoolset: config: server \"-\": Transport is nil: set a Command, HTTP, SSE or Func\nmcptoolset: config: server \"-\": ConnectTimeout and CallTimeout must not be negative\nmcptoolset: config: server \"-\": Limits.Media must not be negative\nmcptoolset: config: server \"-\": ProtocolVersion \"0\" is not one of [")
	require.ErrorContains(t, err, "]\nmcptoolset: config: server \"-\": Sampling \"x\" is not known")
	servers, err := Open([]ServerConfig{{Name: "a", Transport: Command{Path: "x"}}, {Name: "b", Disabled: true}, {Name: "c"}}, Config{})
	require.Nil(t, servers)
	require.EqualError(t, err, `mcptoolset: config: server "c": Transport is nil: set a Command, HTTP, SSE or Func`)
	require.PanicsWithError(t, err.Error(), func() { Must(nil, err) })
}
