// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
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

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/all"
	"github.com/ponte-go/ponte/app/offline"
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
		var idle time.Duration
		c := program()
		c.Setup = func(_ *app.Env, h *host.Config[any, string]) error { idle = h.Idle; return nil }
		p := app.Process{Args: []string{"-idle", "17m", "hi"}, In: strings.NewReader(""), Out: io.Discard}
		require.Zero(v, all.Run(v.Context(), c, p))
		require.Equal(v, 17*time.Minute, idle)
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
		v.Setenv("XDG_STATE_HOME", v.dir)
		v.callsAsk(hello, "mcp", "-no-store")
		require.Empty(v, v.does("sessions", "list"))
		v.callsAsk(hello, "mcp")
		require.NotEmpty(v, v.does("sessions", "list"))
		_, stderr, code := v.tries("", "chat", "-no-store", "-store", v.store(), "hi")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "use one of them")
	},
	"-pace": func(v visitor) {
		_, stderr, code := v.tries("", "chat", "-model", "offline", "-pace", "-1s", "hi")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "-pace: use a positive duration")
		var pace time.Duration
		c := program()
		c.Demo = func(p time.Duration) model.Model { pace = p; return offline.New(offline.Config{}) }
		p := app.Process{Args: []string{"chat", "-model", "offline", "-pace", "17ms", "hi"}, Out: io.Discard}
		p.In = strings.NewReader("")
		require.Zero(v, all.Run(v.Context(), c, p))
		require.Equal(v, 17*time.Millisecond, pace)
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
		require.Equal(v, 2, code)
	},
	"chat -scratch": func(v visitor) {
		v.file("a.txt", "")
		odd := filepath.Join(v.dir, "odd\u202e") // which would turn what follows in a terminal
		require.NoError(v, os.Mkdir(odd, 0o755))
		copyOf := func(dir string) string {
			_, rest, _ := strings.Cut(v.does("chat", "-no-store", "-scratch", "-dir", dir, hello), "Working on a copy: ")
			copied, _, _ := strings.Cut(rest, "\n")
			return copied
		}
		copied := copyOf(v.dir)
		require.NotEqual(v, v.dir, copied)
		require.FileExists(v, filepath.Join(copied, "a.txt"))
		require.NoError(v, os.RemoveAll(filepath.Dir(copied)))
		shown := copyOf(odd)
		require.Equal(v, "odd⟨U+202E⟩", filepath.Base(shown))
		require.NoError(v, os.RemoveAll(filepath.Dir(shown)))
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
		self, err := os.Executable()
		require.NoError(v, err)
		line := asProgram + "=1 '" + self + "' acp -no-store -model offline"
		require.Contains(v, v.does("chat", "-agent", line, hello), "a lamp, delivered")
	},
	"chat -agents": func(v visitor) { require.Contains(v, v.does("chat", "-agents"), "claude-code") },
	"chat -json": func(v visitor) {
		for line := range strings.Lines(v.does("chat", "-no-store", "-json", hello)) {
			require.True(v, json.Valid([]byte(line)), line)
		}
	},
	"chat -plain": func(v visitor) {
		require.Contains(v, v.does("chat", "-no-store", "-plain", hello), "a lamp, delivered")
		if runtime.GOOS == "linux" {
			require.True(v, v.draws())
			require.False(v, v.draws("-plain"))
		}
	},
	"chat -verbose": func(v visitor) {
		_, stderr, code := v.tries("", "chat", "-no-store", "-verbose", "-model", "offline", hello)
		require.Zero(v, code)
		_, quiet, _ := v.tries("", "chat", "-no-store", "-model", "offline", hello)
		require.Greater(v, len(stderr), len(quiet), "it names the model")
	},
	"mcp": func(v visitor) {
		require.Contains(v, v.callsAsk(hello, "mcp", "-no-store"), "delivered")
		out := v.callsAsk(`use refund {"number":"18","amount":1}`, "mcp", "-no-store")
		require.Contains(v, out, "Nobody can be asked here.")
	},
	"mcp -addr": func(v visitor) {
		free := freeAddress(v.T)
		v.serves(func(at *url.URL) {
			require.Equal(v, "http://"+free+"/mcp", at.String())
			require.Equal(v, 400, v.status(at.String(), ""), "a GET without a session")
		}, "mcp", "-no-store", "-addr", free)
	},
	"mcp -dir": func(v visitor) {
		out := v.callsAsk(hello, "mcp", "-store", v.store(), "-dir", v.dir)
		require.Contains(v, out, "delivered")
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store(), "-dir", v.dir))
	},
	"mcp -yes": func(v visitor) {
		const refund = `use refund {"number":"18","amount":1}`
		require.NotContains(v, v.callsAsk(refund, "mcp", "-no-store"), "Refunded 1.")
		require.Contains(v, v.callsAsk(refund, "mcp", "-no-store", "-yes"), "Refunded 1.")
	},
	"web": func(v visitor) {
		v.serves(func(at *url.URL) { require.Equal(v, 200, v.status(at.String(), "")) }, "web", "-no-store", "-open=false")
	},
	"web -addr": func(v visitor) {
		free := freeAddress(v.T)
		v.serves(func(at *url.URL) { require.Equal(v, free, at.Host) }, "web", "-no-store", "-open=false", "-addr", free)
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
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "-dir: ")
		dir, err := filepath.EvalSymlinks(v.dir)
		require.NoError(v, err)
		v.serves(func(at *url.URL) {
			at.Path = "/api/sessions"
			v.posts(at, `{"title":"here"}`, 201)
			v.posts(at, `{"title":"elsewhere","dir":"/"}`, 403)
		}, "web", "-store", v.store(), "-open=false", "-dir", v.dir)
		require.Contains(v, v.does("sessions", "list", "-store", v.store(), "-dir", dir), "here")
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
		require.NoError(v, os.Remove(seen))
		v.serves(func(*url.URL) {}, "web", "-no-store", "-open=false")
		require.NoFileExists(v, seen)
	},
	"completion": func(v visitor) {
		_, stderr, code := v.tries("", "completion", "bsh")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "did you mean bash?")
	},
	"completion bash": func(v visitor) {
		require.Contains(v, v.does("completion", "bash"), "complete -o default")
		v.completes("bash")
	},
	"completion fish": func(v visitor) {
		require.Contains(v, v.does("completion", "fish"), "complete -c desk")
		v.completes("fish")
	},
	"completion powershell": func(v visitor) { require.Contains(v, v.does("completion", "powershell"), "Register-ArgumentCompleter") },
	"completion zsh": func(v visitor) {
		require.Contains(v, v.does("completion", "zsh"), "#compdef desk")
		v.completes("zsh")
	},
	"config": func(v visitor) { require.Contains(v, v.does("config"), "schema") },
	"config path": func(v visitor) {
		require.Equal(v, "x.json\n", v.does("config", "path", "-config", "x.json"))
		dir, err := os.UserConfigDir()
		require.NoError(v, err)
		require.Equal(v, filepath.Join(dir, "desk", "config.json")+"\n", v.does("config", "path"))
	},
	"config schema": func(v visitor) { require.Contains(v, v.does("config", "schema"), `"mcpServers"`) },
	"config schema -project": func(v visitor) {
		schema := v.does("config", "schema", "-project")
		require.NotContains(v, schema, `"mcpServers"`)
		require.Contains(v, schema, `"permissions"`)
	},
	"doctor": func(v visitor) {
		require.Contains(v, v.does("doctor", "-model", "offline", "-store", v.store()), "answers after")
		out, _, code := v.tries("", "doctor", "-model", "offline", "-store", v.file("no-directory", ""))
		require.Equal(v, 1, code)
		require.Contains(v, out, "wrong  store: ")
		require.Contains(v, out, "       make the directory writable")
	},
	"doctor -no-request": func(v visitor) {
		require.Contains(v, v.does("doctor", "-model", "offline", "-no-request"), "not asked")
	},
	"eval": func(v visitor) {
		_, stderr, code := v.tries("", "eval", "show", filepath.Join(v.dir, "none.json"))
		require.Equal(v, 3, code)
		require.Contains(v, stderr, "none.json")
		_, stderr, code = v.tries("", "eval", "check", "-least", "equal=0.5", filepath.Join(v.dir, "none.json"))
		require.Equal(v, 3, code)
		require.Contains(v, stderr, "none.json", "its flags are its own")
	},
	"help": func(v visitor) { require.Contains(v, v.does("help", "chat"), "-scratch") },
	"login": func(v visitor) {
		_, stderr, code := v.tries("", "login", "nobody")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "nobody")
		v.logsIn()
	},
	"logout": func(v visitor) {
		_, stderr, code := v.tries("", "logout", "nobody")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "nobody")
		file := v.logsIn()
		v.does("logout", "mistral")
		kept, err := os.ReadFile(file)
		require.NoError(v, err)
		require.NotContains(v, string(kept), "the-key")
		_, stderr, code = v.tries("", "chat", "-yes", "-model", "mistral:m", "-store", v.store(), hello)
		require.Equal(v, 2, code, "without a key nothing begins")
		require.Contains(v, stderr, "login mistral")
	},
	"man":     func(v visitor) { require.Contains(v, v.does("man", "chat"), `desk\-chat \- Talk to`) },
	"version": func(v visitor) { require.Contains(v, v.does("version"), "desk ") },
}

// callsAsk calls the tool of the MCP server, and returns what it says.
func (v visitor) callsAsk(prompt string, args ...string) string {
	v.Helper()
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call",
		"params": map[string]any{"name": "ask", "arguments": map[string]any{"prompt": prompt}}})
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

// posts sends a body to a path of the page's server, which must answer with a status.
func (v visitor) posts(at *url.URL, body string, want int) {
	v.Helper()
	to := *at
	to.RawQuery = ""
	r, err := http.NewRequest(http.MethodPost, to.String(), strings.NewReader(body))
	require.NoError(v, err)
	r.Header.Set("Authorization", "Bearer "+at.Query().Get("token"))
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(v, err)
	defer res.Body.Close()
	said, _ := io.ReadAll(res.Body)
	require.Equal(v, want, res.StatusCode, string(said))
}

// logsIn keeps a key, and returns the file that has it.
func (v visitor) logsIn() string {
	v.Helper()
	file := filepath.Join(v.dir, "keys.json")
	v.Setenv("DESK_KEYS", file)
	_, stderr, code := v.tries("the-key\n", "login", "mistral")
	require.Zero(v, code, stderr)
	kept, err := os.ReadFile(file)
	require.NoError(v, err)
	require.JSONEq(v, `{"MISTRAL_API_KEY":"the-key"}`, string(kept))
	require.Contains(v, v.does("doctor", "-no-request", "-no-store", "-model", "mistral:m"), "ok     model: mistral:m")
	return file
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
	maps.Copy(promised, promisedOfSessions)
	known := slices.Sorted(maps.Keys(promised))
	all := shown(visitor{T: t, dir: t.TempDir()})
	slices.Sort(all)
	require.Equal(t, all, known, "each command and flag has a test")
	for _, name := range known {
		t.Run(name, func(t *testing.T) { promised[name](visitor{T: t, dir: t.TempDir()}) })
	}
}
