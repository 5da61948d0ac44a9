// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app"
)

// visitor uses the program with a state of their own.
type visitor struct {
	*testing.T
	dir string
}

// does runs the program, which must end well.
func (v visitor) does(args ...string) (stdout string) {
	v.Helper()
	stdout, stderr, code := v.tries("", args...)
	require.Zero(v, code, "%v: %s%s", args, stdout, stderr)
	return stdout
}

func (v visitor) tries(in string, args ...string) (stdout, stderr string, code int) {
	v.Helper()
	var out bytes.Buffer
	stderr, code = run(v.T, strings.NewReader(in), &out, args...)
	return out.String(), stderr, code
}

// asked asks the agent something in a directory, and returns the id of the session.
func (v visitor) asked(question string, args ...string) string {
	v.Helper()
	v.does(append([]string{"chat", "-yes", "-store", v.store(), question}, args...)...)
	return strings.Fields(v.does("sessions", "list", "-store", v.store()))[0]
}

func (v visitor) store() string { return filepath.Join(v.dir, "store") }

func (v visitor) file(name, text string) string {
	path := filepath.Join(v.dir, name)
	require.NoError(v, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// serves runs a program that serves, and gives f its address.
func (v visitor) serves(f func(address *url.URL), args ...string) {
	v.Helper()
	ctx, cancel := context.WithCancel(v.Context())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() { done <- runIn(ctx, in, args...) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(v, err)
	address, err := url.Parse(strings.TrimSpace(line))
	require.NoError(v, err)
	f(address)
	cancel()
	require.Zero(v, <-done)
	http.DefaultClient.CloseIdleConnections()
}

func (v visitor) status(address, host string) int {
	v.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	require.NoError(v, err)
	if host != "" {
		r.Host = host
	}
	r.Header.Set("Authorization", "Bearer "+r.URL.Query().Get("token"))
	r.URL.RawQuery = ""
	res, err := http.DefaultClient.Do(r)
	require.NoError(v, err)
	_ = res.Body.Close()
	return res.StatusCode
}

const hello = `use order {"number":"17"}`

// promised has a test for each command and flag that the help shows: the command, and the flag after a
// space. Flags of all commands have no command.
var promised = map[string]func(v visitor){
	"-config": func(v visitor) {
		v.does("doctor", "-model", "offline", "-config", v.file("c.json", `{}`))
		_, stderr, code := v.tries("", "chat", "-config", v.file("c.json", `{"modell": 1}`), "hi")
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "did you mean model?")
	},
	"-encrypt": func(v visitor) {
		key := filepath.Join(v.dir, "key")
		v.does("sessions", "key", "-encrypt", key)
		v.does("chat", "-yes", "-store", v.store(), "-encrypt", key, hello)
		_, stderr, code := v.tries("", "sessions", "list", "-store", v.store())
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "are encrypted")
	},
	"-idle": func(v visitor) {
		_, stderr, code := v.tries("", "chat", "-idle", "-1s", "hi")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "use a positive duration")
		v.does("chat", "-model", "offline", "-idle", "1m", "hi")
	},
	"-log": func(v visitor) {
		at := filepath.Join(v.dir, "log")
		c := app.Config[any, string]{Name: "desk", Agent: desk, Commands: []func(e *app.Env) *cobra.Command{func(e *app.Env) *cobra.Command {
			return &cobra.Command{Use: "fail", Run: func(*cobra.Command, []string) { e.Logger.Error("it is on fire") }}
		}}}
		require.Zero(v, app.Run(v.Context(), c, app.Process{Args: []string{"fail", "-log", at}}))
		log, err := os.ReadFile(at)
		require.NoError(v, err)
		require.Contains(v, string(log), "it is on fire")
	},
	"-model": func(v visitor) {
		require.Contains(v, v.does("doctor", "-model", "offline"), "model: offline:")
		_, stderr, code := v.tries("", "-model", "offlin", "hi there")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "did you mean offline?")
	},
	"-no-store": func(v visitor) {
		v.does("chat", "-no-store", "hi")
		_, stderr, code := v.tries("", "chat", "-no-store", "-store", v.store(), "hi")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "use one of them")
	},
	"-pace": func(v visitor) {
		begin := time.Now()
		v.does("chat", "-no-store", "-model", "offline", "-pace", "20ms", hello)
		require.Greater(v, time.Since(begin), 60*time.Millisecond, "between two pieces of text")
	},
	"-store": func(v visitor) {
		v.asked(hello)
		require.DirExists(v, v.store())
	},
	"-help": func(v visitor) { require.Contains(v, v.does("-h"), "Ways to use it:") },
	"acp": func(v visitor) {
		out, _, _ := v.tries(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`+"\n", "acp", "-no-store")
		require.Contains(v, out, `"protocolVersion":1`)
	},
	"chat": func(v visitor) {
		out, _, code := v.tries(hello+"\n", "chat", "-no-store")
		require.Zero(v, code)
		require.Contains(v, out, "a lamp, delivered")
	},
	"chat -dir": func(v visitor) {
		v.asked(hello, "-dir", v.dir)
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store(), "-dir", v.dir))
		_, _, code := v.tries("", "chat", "-dir", filepath.Join(v.dir, "none"), "hi")
		require.Equal(v, 1, code)
	},
	"chat -scratch": func(v visitor) {
		require.Contains(v, v.does("chat", "-no-store", "-scratch", "-dir", v.dir, hello), "Working on a copy: ")
	},
	"chat -yes": func(v visitor) {
		const refund = `use refund {"number":"18","amount":1}`
		_, _, code := v.tries("", "chat", "-no-store", refund)
		require.Equal(v, 5, code)
		require.Contains(v, v.does("chat", "-no-store", "-yes", refund), "Refunded 1.")
	},
	"chat -continue": func(v visitor) {
		id := v.asked(hello)
		v.does("chat", "-store", v.store(), "-continue", `use order {"number":"18"}`)
		require.Contains(v, v.does("sessions", "show", id, "-store", v.store()), "on its way")
	},
	"chat -resume": func(v visitor) {
		id := v.asked(hello)
		v.asked(hello)
		v.does("chat", "-store", v.store(), "-resume", id, `use order {"number":"18"}`)
		require.Contains(v, v.does("sessions", "show", id, "-store", v.store()), "on its way")
	},
	"chat -agent": func(v visitor) {
		_, stderr, code := v.tries("", "chat", "-agent", "false", "hi")
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "false")
	},
	"chat -agents": func(v visitor) { require.Contains(v, v.does("chat", "-agents"), "claude-code") },
	"chat -json": func(v visitor) {
		for line := range strings.Lines(v.does("chat", "-no-store", "-json", hello)) {
			require.True(v, json.Valid([]byte(line)), line)
		}
	},
	"chat -plain": func(v visitor) {
		require.Contains(v, v.does("chat", "-no-store", "-plain", hello), "a lamp, delivered")
	},
	"chat -verbose": func(v visitor) {
		_, stderr, code := v.tries("", "chat", "-no-store", "-verbose", "-model", "offline", hello)
		require.Zero(v, code)
		_, quiet, _ := v.tries("", "chat", "-no-store", "-model", "offline", hello)
		require.Greater(v, len(stderr), len(quiet), "it names the model")
	},
	"mcp": func(v visitor) {
		require.Contains(v, v.callsAsk("mcp", "-no-store"), "delivered")
	},
	"mcp -addr": func(v visitor) {
		v.serves(func(at *url.URL) { require.Equal(v, "/mcp", at.Path) }, "mcp", "-no-store", "-addr", "127.0.0.1:0")
	},
	"mcp -dir": func(v visitor) {
		out := v.callsAsk("mcp", "-store", v.store(), "-dir", v.dir)
		require.Contains(v, out, "delivered")
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store(), "-dir", v.dir))
	},
	"mcp -yes": func(v visitor) {
		require.Contains(v, v.callsAsk("mcp", "-no-store", "-yes"), "delivered")
	},
	"web": func(v visitor) {
		v.serves(func(at *url.URL) { require.Equal(v, 200, v.status(at.String(), "")) }, "web", "-no-store", "-open=false")
	},
	"web -addr": func(v visitor) {
		v.serves(func(at *url.URL) { require.Equal(v, "127.0.0.1", at.Hostname()) }, "web", "-no-store", "-open=false", "-addr", "127.0.0.1:0")
	},
	"web -admin": func(v visitor) {
		at := freeAddress(v.T)
		v.serves(func(*url.URL) {
			for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
				require.Equal(v, 200, v.status("http://"+at+path, ""), path)
			}
		}, "web", "-no-store", "-open=false", "-admin", at)
	},
	"web -dir": func(v visitor) {
		_, stderr, code := v.tries("", "web", "-open=false", "-dir", filepath.Join(v.dir, "none"))
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "-dir: ")
	},
	"web -host": func(v visitor) {
		v.serves(func(at *url.URL) {
			require.Equal(v, 200, v.status(at.String(), "chat.example.com"))
			require.NotEqual(v, 200, v.status(at.String(), "evil.example.com"))
		}, "web", "-no-store", "-open=false", "-host", "chat.example.com")
	},
	"web -open": func(v visitor) {
		if runtime.GOOS != "linux" {
			return // the page would open here
		}
		seen := filepath.Join(v.dir, "seen")
		opener := filepath.Join(v.dir, "xdg-open")
		require.NoError(v, os.WriteFile(opener, []byte("#!/bin/sh\necho \"$1\" >"+seen+"\n"), 0o700))
		v.Setenv("PATH", v.dir+":"+os.Getenv("PATH"))
		v.Setenv("DISPLAY", ":99")
		v.serves(func(*url.URL) {
			require.Eventually(v, func() bool { _, err := os.Stat(seen); return err == nil }, time.Minute, 10*time.Millisecond)
		}, "web", "-no-store")
	},
	"completion": func(v visitor) {
		_, stderr, code := v.tries("", "completion", "bsh")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "did you mean bash?")
	},
	"completion bash":       func(v visitor) { require.Contains(v, v.does("completion", "bash"), "complete -o default") },
	"completion fish":       func(v visitor) { require.Contains(v, v.does("completion", "fish"), "complete -c desk") },
	"completion powershell": func(v visitor) { require.Contains(v, v.does("completion", "powershell"), "Register-ArgumentCompleter") },
	"completion zsh":        func(v visitor) { require.Contains(v, v.does("completion", "zsh"), "#compdef desk") },
	"config":                func(v visitor) { require.Contains(v, v.does("config"), "schema") },
	"config path": func(v visitor) {
		require.Equal(v, "x.json\n", v.does("config", "path", "-config", "x.json"))
	},
	"config schema": func(v visitor) { require.Contains(v, v.does("config", "schema"), `"mcpServers"`) },
	"config schema -project": func(v visitor) {
		require.NotContains(v, v.does("config", "schema", "-project"), `"mcpServers"`)
	},
	"doctor": func(v visitor) {
		require.Contains(v, v.does("doctor", "-model", "offline", "-store", v.store()), "answers after")
	},
	"doctor -no-request": func(v visitor) {
		require.Contains(v, v.does("doctor", "-model", "offline", "-no-request"), "not asked")
	},
	"eval": func(v visitor) {
		_, stderr, code := v.tries("", "eval", "show", filepath.Join(v.dir, "none.json"))
		require.NotZero(v, code)
		require.Contains(v, stderr, "none.json")
	},
	"help": func(v visitor) { require.Contains(v, v.does("help", "chat"), "-scratch") },
	"login": func(v visitor) {
		_, stderr, code := v.tries("", "login", "nobody")
		require.NotZero(v, code)
		require.Contains(v, stderr, "nobody")
	},
	"logout": func(v visitor) {
		_, stderr, code := v.tries("", "logout", "nobody")
		require.NotZero(v, code)
		require.Contains(v, stderr, "nobody")
	},
	"man": func(v visitor) { require.Contains(v, v.does("man", "chat"), `desk\-chat \- Talk to`) },
	"sessions": func(v visitor) {
		_, stderr, code := v.tries("", "sessions")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "list, show, export, import, salvage, purge or key")
	},
	"sessions key": func(v visitor) {
		key := filepath.Join(v.dir, "key")
		require.Contains(v, v.does("sessions", "key", "-encrypt", key), "Keep a copy")
		_, stderr, code := v.tries("", "sessions", "key", "-encrypt", key)
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "-rotate adds a new one")
	},
	"sessions key -rotate": func(v visitor) {
		key := filepath.Join(v.dir, "key")
		v.does("sessions", "key", "-encrypt", key)
		v.does("chat", "-yes", "-store", v.store(), "-encrypt", key, hello)
		before, err := os.ReadFile(key)
		require.NoError(v, err)
		v.does("sessions", "key", "-rotate", "-encrypt", key)
		after, err := os.ReadFile(key)
		require.NoError(v, err)
		require.NotEqual(v, string(before), string(after))
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store(), "-encrypt", key))
	},
	"sessions list": func(v visitor) {
		require.Len(v, strings.Fields(v.asked(hello)), 1)
	},
	"sessions list -dir": func(v visitor) {
		v.asked(hello, "-dir", v.dir)
		require.Empty(v, v.does("sessions", "list", "-store", v.store(), "-dir", v.Name()))
	},
	"sessions list -json": func(v visitor) {
		v.asked(hello)
		require.True(v, json.Valid([]byte(v.does("sessions", "list", "-json", "-store", v.store()))))
	},
	"sessions show": func(v visitor) {
		require.Contains(v, v.does("sessions", "show", v.asked(hello), "-store", v.store()), "a lamp")
	},
	"sessions show -json": func(v visitor) {
		require.True(v, json.Valid([]byte(v.does("sessions", "show", "-json", v.asked(hello), "-store", v.store()))))
	},
	"sessions export": func(v visitor) {
		require.Contains(v, v.does("sessions", "export", v.asked(hello), "-store", v.store()), "a lamp")
	},
	"sessions export -as": func(v visitor) {
		require.NotEmpty(v, v.does("sessions", "export", "-as", "case", v.asked(hello), "-store", v.store()))
	},
	"sessions export -dir": func(v visitor) {
		v.asked(hello, "-dir", v.dir)
		require.Contains(v, v.does("sessions", "export", "-dir", v.dir, "-store", v.store()), "a lamp")
	},
	"sessions export -out": func(v visitor) {
		v.exportsTest()
	},
	"sessions export -package": func(v visitor) {
		require.Contains(v, v.exportsTest("-package", "shop_test"), "package shop_test")
	},
	"sessions export -setup": func(v visitor) {
		require.Contains(v, v.exportsTest("-setup", "makeDesk"), "makeDesk")
	},
	"sessions import": func(v visitor) {
		file := v.file("export", v.does("sessions", "export", v.asked(hello), "-store", v.store()))
		other := filepath.Join(v.dir, "other")
		v.does("sessions", "import", file, "-store", other)
		require.NotEmpty(v, v.does("sessions", "list", "-store", other))
	},
	"sessions salvage": func(v visitor) {
		_, stderr, code := v.tries("", "sessions", "salvage", v.asked(hello), "-store", v.store())
		require.True(v, code == 0 || strings.Contains(stderr, "damage"), stderr)
	},
	"sessions purge": func(v visitor) {
		v.does("sessions", "purge", v.asked(hello), "-store", v.store())
		require.Empty(v, v.does("sessions", "list", "-store", v.store()))
	},
	"sessions purge -all": func(v visitor) {
		v.asked(hello)
		v.does("sessions", "purge", "-all", "-store", v.store())
		require.Empty(v, v.does("sessions", "list", "-store", v.store()))
	},
	"sessions purge -dir": func(v visitor) {
		v.asked(hello, "-dir", v.dir)
		v.does("sessions", "purge", "-dir", v.dir, "-store", v.store())
		require.Empty(v, v.does("sessions", "list", "-store", v.store()))
	},
	"sessions purge -older": func(v visitor) {
		v.asked(hello)
		v.does("sessions", "purge", "-older", "720h", "-store", v.store())
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store()))
	},
	"version": func(v visitor) { require.Contains(v, v.does("version"), "desk ") },
}

// callsAsk calls the tool of the MCP server, and returns what it says.
func (v visitor) callsAsk(args ...string) string {
	v.Helper()
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call",
		"params": map[string]any{"name": "ask", "arguments": map[string]any{"prompt": hello}}})
	require.NoError(v, err)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan int, 1)
	go func() {
		_, code := run(v.T, in, out, args...)
		done <- code
		_ = out.Close()
	}()
	lines := bufio.NewReader(fromServer)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, string(call),
	} {
		_, err := io.WriteString(toServer, message+"\n")
		require.NoError(v, err)
		if strings.Contains(message, `"id":1`) {
			_, err = lines.ReadString('\n')
			require.NoError(v, err)
		}
	}
	answer, err := lines.ReadString('\n')
	require.NoError(v, err)
	_ = toServer.Close()
	require.Zero(v, <-done)
	return answer
}

// exportsTest exports a session as a test, and returns the test.
func (v visitor) exportsTest(args ...string) string {
	v.Helper()
	at := filepath.Join(v.dir, "tests")
	require.NoError(v, os.MkdirAll(at, 0o700))
	v.does(append([]string{"sessions", "export", "-as", "test", "-out", at, v.asked(hello), "-store", v.store()}, args...)...)
	files, err := filepath.Glob(filepath.Join(at, "*_test.go"))
	require.NoError(v, err)
	require.Len(v, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(v, err)
	return string(data)
}

var (
	helpCommand = regexp.MustCompile(`^  ([a-z]+) +[A-Z]`)
	helpFlag    = regexp.MustCompile(`^ +(?:-[a-z], )?--([a-z-]+)`)
)

// shown returns the commands and flags that the help shows, below a command.
func shown(v visitor, words ...string) (all []string) {
	help := v.does(append(slices.Clone(words), "-h")...)
	if len(words) > 0 {
		help, _, _ = strings.Cut(help, "\nGlobal Flags:")
	}
	for line := range strings.Lines(help) {
		if m := helpCommand.FindStringSubmatch(line); m != nil {
			command := append(slices.Clone(words), m[1])
			all = append(append(all, strings.Join(command, " ")), shown(v, command...)...)
		}
		m := helpFlag.FindStringSubmatch(line)
		own := len(words) == 0 || len(words) > 0 && m != nil && m[1] != "help"
		if m != nil && own && !(len(words) == 2 && words[0] == "completion") {
			all = append(all, strings.TrimSpace(strings.Join(words, " ")+" -"+m[1]))
		}
	}
	return all
}

// TestHelpIsTrue uses each command and each flag that the help shows.
func TestHelpIsTrue(t *testing.T) {
	var known []string
	for name := range promised {
		known = append(known, name)
	}
	slices.Sort(known)
	all := shown(visitor{T: t, dir: t.TempDir()})
	slices.Sort(all)
	require.Equal(t, all, known, "each command and flag has a test")
	for _, name := range known {
		t.Run(name, func(t *testing.T) { promised[name](visitor{T: t, dir: t.TempDir()}) })
	}
}
