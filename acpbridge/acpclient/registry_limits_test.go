// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// one returns an entry with members that replace those of a valid one.
func one(members map[string]any) []byte {
	all := map[string]any{"id": "a", "name": "A", "version": "1.2.3", "distribution": map[string]any{"command": map[string]any{"path": "a"}}}
	for name, v := range members {
		all[name] = v
	}
	data, err := json.Marshal(map[string]any{"agents": []any{all}})
	if err != nil {
		panic(err)
	}
	return data
}

type m = map[string]any

// list has n strings that differ, and env as many variables.
func list(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("V", i))
	}
	return all
}

func env(n int) m {
	all := m{}
	for _, name := range list(n) {
		all[name] = "x"
	}
	return all
}

// Each member of an entry has its limit: what is just within is taken, and what is just beyond is told with the member's name.
func TestMembersOfEntriesHaveLimits(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	command := func(members m) m {
		all := m{"path": "a"}
		for name, v := range members {
			all[name] = v
		}
		return m{"distribution": m{"command": all}}
	}
	variable := func(name, value string) m { return command(m{"env": m{name: value}}) }
	npm := func(name string) m { return m{"distribution": m{"npx": m{"package": name}}} }
	pypi := func(name string) m { return m{"distribution": m{"uvx": m{"package": name}}} }
	archive := func(members m) m {
		all := m{"archive": "https://example.com/a.zip", "cmd": "a"}
		for name, v := range members {
			all[name] = v
		}
		return m{"distribution": m{"binary": m{"linux-x86_64": all}}}
	}
	const letters, runs = "is not a name of lower-case letters, digits and hyphens", " could make other code run, or send data elsewhere: set it in the environment of your program"
	address := "https://example.com/"
	for _, c := range []struct {
		good, bad m
		want      string
	}{
		{m{"id": x(64)}, m{"id": x(65)}, `id: "` + x(65) + `" ` + letters},
		{m{"id": "a-0"}, m{"id": "0a"}, `id: "0a" ` + letters},
		{m{"id": "z"}, m{"id": "Z"}, `id: "Z" ` + letters},
		{m{"aliases": []string{"b", x(64)}}, m{"aliases": []string{"b", x(65)}}, `aliases: "` + x(65) + `" ` + letters},
		{m{"aliases": []string{"b-"}}, m{"aliases": []string{"-b"}}, `aliases: "-b" ` + letters},
		{m{"version": "1.2.3-" + x(58)}, m{"version": "1.2.3-" + x(59)}, `version: "1.2.3-` + x(59) + `" is not a version such as 1.2.3`},
		{m{"version": "10.20.30+b"}, m{"version": "1.2"}, `version: "1.2" is not a version such as 1.2.3`},
		{m{"name": "B"}, m{"name": ""}, `name: it is missing`},
		{m{"name": x(4096)}, m{"name": x(4097)}, `the description: a text is longer than 4096 bytes`},
		{m{"description": x(4096)}, m{"description": x(4097)}, `the description: a text is longer than 4096 bytes`},
		{m{"repository": x(4096)}, m{"repository": x(4097)}, `the description: a text is longer than 4096 bytes`},
		{m{"website": x(4096)}, m{"website": x(4097)}, `the description: a text is longer than 4096 bytes`},
		{m{"license": x(4096)}, m{"license": x(4097)}, `the description: a text is longer than 4096 bytes`},
		{m{"authors": []string{"b", x(4096)}}, m{"authors": []string{"b", x(4097)}}, `the description: a text is longer than 4096 bytes`},
		{npm("a@1.0.0"), m{"distribution": m{}}, `distribution: it is missing: set npx, uvx, binary or command, which start the agent`},
		{npm("@s/a@1.0.0-rc.1+b"), npm("a@1.0"), `npx: package: "a@1.0" is not a package of npm with its exact version, such as name@1.2.3`},
		{npm(x(294) + "@1.0.0"), npm(x(295) + "@1.0.0"), `npx: package: "` + x(100) + `…" is not a package of npm with its exact version, such as name@1.2.3`},
		{pypi("a[b,c]==1.0rc1.post2.dev3"), pypi("a=1.0"), `uvx: package: "a=1.0" is not a package of PyPI with its exact version, such as name==1.2.3`},
		{pypi(x(294) + "@1.0.0"), pypi(x(295) + "@1.0.0"), `uvx: package: "` + x(100) + `…" is not a package of PyPI with its exact version, such as name==1.2.3`},
		{archive(nil), m{"distribution": m{"binary": m{"linux": m{"archive": "https://example.com/a.zip", "cmd": "a"}}}}, `binary linux: unknown platform: use one of darwin-aarch64, darwin-x86_64, linux-aarch64, linux-x86_64, windows-aarch64, windows-x86_64`},
		{archive(m{"archive": address + x(4096-len(address))}), archive(m{"archive": address + x(4097-len(address))}), `binary linux-x86_64: archive: "https://example.com/` + x(80) + `…" is not an https address`},
		{archive(m{"archive": "https://h:1/a"}), archive(m{"archive": "https:///a"}), `binary linux-x86_64: archive: "https:///a" is not an https address`},
		{archive(m{"archive": "https://h/%20"}), archive(m{"archive": "https://h/%zz"}), `binary linux-x86_64: archive: "https://h/%zz" is not an https address`},
		{archive(m{"archive": "https://h/a@b"}), archive(m{"archive": "https://u@h/a"}), `binary linux-x86_64: archive: the address has a user in it`},
		{archive(m{"sha256": strings.Repeat("aF", 32)}), archive(m{"sha256": strings.Repeat("aF", 33)}), `sha256: "` + strings.Repeat("aF", 33) + `" is not a SHA-256 checksum of 64 hexadecimal digits`},
		{archive(m{"sha256": strings.Repeat("0", 64)}), archive(m{"sha256": strings.Repeat("g", 64)}), `is not a SHA-256 checksum of 64 hexadecimal digits`},
		{archive(m{"cmd": x(4096)}), archive(m{"cmd": x(4097)}), `cmd: "` + x(100) + `…" is not the path of a program in the archive`},
		{archive(m{"cmd": "./a/..b"}), archive(m{"cmd": "a/.."}), `cmd: "a/.." is not the path of a program in the archive`},
		{archive(m{"cmd": "..a"}), archive(m{"cmd": ".."}), `cmd: ".." is not the path of a program in the archive`},
		{archive(m{"cmd": "a/../b"}), archive(m{"cmd": "a/../../b"}), `cmd: "a/../../b" is not the path of a program in the archive`},
		{archive(m{"cmd": "a b"}), archive(m{"cmd": "a\x00b"}), `cmd: "a\x00b" is not the path of a program in the archive`},
		{archive(m{"args": list(100)}), archive(m{"args": list(101)}), `binary linux-x86_64: more than 100 arguments or variables`},
		{command(m{"path": x(4096)}), command(m{"path": x(4097)}), `command: path: "` + x(100) + `…" is not the path of a program`},
		{command(m{"path": "a b"}), command(m{"path": "a\x00b"}), `command: path: "a\x00b" is not the path of a program`},
		{command(m{"path": filepath.Join(t.TempDir(), "a")}), command(m{"path": "b/a"}), `command: path: "b/a" is neither a name nor an absolute path`},
		{command(m{"args": list(100)}), command(m{"args": list(101)}), `command: more than 100 arguments or variables`},
		{command(m{"env": env(100)}), command(m{"env": env(101)}), `command: more than 100 arguments or variables`},
		{command(m{"args": []string{x(4096)}}), command(m{"args": []string{x(4097)}}), `command: args: "` + x(100) + `…" cannot be an argument`},
		{command(m{"args": []string{"\n"}}), command(m{"args": []string{"a", "\x00"}}), `command: args: "\x00" cannot be an argument`},
		{variable(x(256), ""), variable(x(257), ""), `command: env: "` + x(100) + `…" is not the name of a variable`},
		{variable("ä", "\t"), variable("A\u202e", ""), `command: env: "A\u202e" is not the name of a variable`},
		{variable("A.B", "="), variable("A=B", ""), `command: env: "A=B" is not the name of a variable`},
		{variable("A", x(4096)), variable("A", x(4097)), `command: env: A: the value is too long, or has a NUL`},
		{variable("A", "b"), variable("A", "b\x00"), `command: env: A: the value is too long, or has a NUL`},
		{variable("MY_PATH", ""), variable("path", ""), `command: env: path` + runs},
		{variable("OLD_X", ""), variable("Ld_x", ""), `command: env: Ld_x` + runs},
		{variable("PROXY", ""), variable("all_proxy", ""), `command: env: all_proxy` + runs},
		{variable("BASE_URL_", ""), variable("X_BASE_URL", ""), `command: env: X_BASE_URL` + runs},
	} {
		r, err := acpclient.ParseRegistry(one(c.good))
		require.NoError(t, err, "%.200v", c.good)
		require.Len(t, r.Agents(), 1)
		_, err = acpclient.ParseRegistry(one(c.bad))
		require.Error(t, err, "%.200v", c.bad)
		require.Contains(t, err.Error(), c.want)
		require.True(t, strings.HasPrefix(err.Error(), `acpclient: agent 1, "`), err)
		require.NotContains(t, err.Error(), "\n", "it is the only mistake")
	}
}

// Each variable that runs code is refused, and none of the usual ones.
func TestVariablesThatRunCodeAreRefused(t *testing.T) {
	for _, name := range strings.Fields(`PATH PATHEXT COMSPEC SHELL SHELLOPTS BASHOPTS BASH_ENV ENV IFS HOME USERPROFILE APPDATA LOCALAPPDATA NODE_OPTIONS NODE_PATH
		NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED PERL5LIB PERL5OPT RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS EDITOR VISUAL PAGER SSH_ASKPASS BROWSER SSL_CERT_FILE SSL_CERT_DIR
		GCONV_PATH LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES NPM_CONFIG_REGISTRY PYTHONPATH PYTHONSTARTUP UV_INDEX PIP_INDEX_URL GIT_SSH BASH_FUNC_x GLIBC_TUNABLES XDG_CONFIG_HOME HTTP_PROXY OPENAI_BASE_URL`) {
		_, err := acpclient.ParseRegistry(one(m{"distribution": m{"command": m{"path": "a", "env": m{name: "x"}}}}))
		require.ErrorContains(t, err, name+" could make other code run")
	}
	for _, name := range []string{"QUIET", "TERM", "LANG", "API_KEY", "NODE_ENV", "HOMEPAGE", "ENVIRONMENT", "MY_EDITOR"} {
		_, err := acpclient.ParseRegistry(one(m{"distribution": m{"command": m{"path": "a", "env": m{name: "x"}}}}))
		require.NoError(t, err)
	}
}

// All mistakes of an entry are told together, and those of the first ten entries.
func TestMistakesOfEntriesAreToldTogether(t *testing.T) {
	bad := entry("A", `{"command":{"path":""},"npx":{"package":"a"}}`)
	_, err := acpclient.ParseRegistry(file(entry("ok", npx), bad))
	require.EqualError(t, err, `acpclient: agent 2, "A": id: "A" is not a name of lower-case letters, digits and hyphens
npx: package: "a" is not a package of npm with its exact version, such as name@1.2.3
command: path: "" is not the path of a program`)
	var all []string
	for i := range 12 {
		all = append(all, entry(fmt.Sprint("A", i), npx))
	}
	_, err = acpclient.ParseRegistry(file(all...))
	require.Equal(t, 10, strings.Count(err.Error(), "acpclient: agent "))
	require.Contains(t, err.Error(), `agent 10, "A9"`)
	all = nil
	for i := range 2000 {
		all = append(all, entry(fmt.Sprint("a", i), npx))
	}
	r, err := acpclient.ParseRegistry(file(all...))
	require.NoError(t, err)
	require.Len(t, r.Agents(), 2000)
	whole := file(entry("a", npx))
	_, err = acpclient.ParseRegistry(append(whole, strings.Repeat(" ", 4<<20-len(whole))...))
	require.NoError(t, err)
	_, err = acpclient.ParseRegistry(append(whole, strings.Repeat(" ", 4<<20-len(whole)+1)...))
	require.EqualError(t, err, "acpclient: the file is larger than 4194304 bytes")
	for text, want := range map[string]string{
		`{"version":"1.9","agents":[]}`: "", `{"agents":[]}`: "", `{"version":"10.0","agents":[]}`: `acpclient: the file is of version "10.0" of the format, and this package reads version 1`,
		`{}`: `acpclient: it is not a registry: the list "agents" is missing`, `{"agents":[]}x`: "acpclient: there is something after the registry's object",
	} {
		r, err := acpclient.ParseRegistry([]byte(text))
		if want != "" {
			require.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err, text)
		require.Empty(t, r.Agents())
	}
}

// The agents of another registry replace those with one of their names, and all come in the order of their ids.
func TestRegistriesAreJoined(t *testing.T) {
	named := func(id string, aliases ...string) string {
		list, _ := json.Marshal(append([]string{}, aliases...))
		return strings.Replace(entry(id, npx), `{`, `{"aliases":`+string(list)+`,`, 1)
	}
	parse := func(entries ...string) *acpclient.Registry {
		r, err := acpclient.ParseRegistry(file(entries...))
		require.NoError(t, err)
		return r
	}
	all := parse(named("delta"), named("beta", "b"), named("alpha", "a", "first")).With(parse(named("gamma", "first"), named("b")))
	var ids []string
	for _, a := range all.Agents() {
		ids = append(ids, a.ID)
	}
	require.Equal(t, []string{"b", "delta", "gamma"}, ids)
	for name, id := range map[string]string{"b": "b", "delta": "delta", "gamma": "gamma", "first": "gamma"} {
		a, err := all.Find(name)
		require.NoError(t, err)
		require.Equal(t, id, a.ID)
	}
	for name, want := range map[string]string{
		"alpha": `acpclient: there is no agent "alpha"; Registry.Agents lists all that there are`, "delto": `acpclient: there is no agent "delto"; did you mean delta?`,
		"del": `acpclient: there is no agent "del"; did you mean delta?`, "my-gamma-delta": `acpclient: there is no agent "my-gamma-delta"; did you mean delta or gamma?`,
		strings.Repeat("x", 101): `acpclient: there is no agent "` + strings.Repeat("x", 100) + `…"; Registry.Agents lists all that there are`,
	} {
		_, err := all.Find(name)
		require.EqualError(t, err, want)
	}
}

func TestFilesOfRegistriesAreRead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "agents.json")
	_, err := acpclient.ReadRegistry(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "acpclient: ")
	_, err = acpclient.ReadRegistry(dir)
	require.EqualError(t, err, "acpclient: "+dir+": it is not a regular file")
	require.NoError(t, os.WriteFile(name, []byte("{}"), 0o600))
	_, err = acpclient.ReadRegistry(name)
	require.EqualError(t, err, "acpclient: "+name+`: acpclient: it is not a registry: the list "agents" is missing`)
	require.NoError(t, os.WriteFile(name, file(entry("a", npx)), 0o600))
	r, err := acpclient.ReadRegistry(name)
	require.NoError(t, err)
	require.Len(t, r.Agents(), 1)
	if runtime.GOOS == "windows" {
		return // files have no such modes there
	}
	for mode, bad := range map[os.FileMode]bool{0o644: false, 0o620: true, 0o602: true} {
		require.NoError(t, os.Chmod(name, mode))
		_, err = acpclient.ReadRegistry(name)
		require.Equal(t, bad, err != nil, "%o", mode)
		if bad {
			require.EqualError(t, err, "acpclient: "+name+": other users may write it, and it determines what runs: use chmod go-w")
		}
	}
}

// Values of the user's variables are in no print and in no log, only in the JSON, which is the user's file.
func TestVariablesOfEntriesAreNotPrinted(t *testing.T) {
	r, err := acpclient.ParseRegistry([]byte(entry("a", `{"command":{"path":"agent","args":["--acp"],"env":{"KEY":"hush"}}}`)))
	require.NoError(t, err)
	a := r.Agents()[0]
	var log strings.Builder
	l := slog.New(slog.NewTextHandler(&log, nil))
	l.Info("x", "agent", *a, "distribution", a.Distribution, "program", *a.Distribution.Command)
	l.Info("x", "agent", a, "program", a.Distribution.Command)
	for _, text := range []string{log.String(), fmt.Sprintf("%v %+v %#v", a, a, a), fmt.Sprintf("%v %+v %#v", *a.Distribution.Command, a.Distribution, a.Distribution.Command)} {
		require.NotContains(t, text, "hush")
		require.Contains(t, text, "agent")
	}
	require.Contains(t, log.String(), "KEY")
	data, err := json.Marshal(a)
	require.NoError(t, err)
	require.Contains(t, string(data), "hush")
}
