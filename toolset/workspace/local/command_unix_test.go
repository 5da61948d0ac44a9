// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func start(t testing.TB, w *local.Workspace, line string) workspace.Process {
	t.Helper()
	p, err := w.Start(t.Context(), workspace.Command{Line: line})
	require.NoError(t, err)
	return p
}

// run runs a command line to its end, and returns its output.
func run(t testing.TB, w *local.Workspace, line string) (string, workspace.Exit) {
	t.Helper()
	p := start(t, w, line)
	exit, err := p.Wait(t.Context())
	require.NoError(t, err)
	text := outputOf(t, p)
	require.NoError(t, p.Close(t.Context()))
	return text, exit
}

func outputOf(t testing.TB, p workspace.Process) string {
	t.Helper()
	c, err := p.Output(t.Context(), 0, 0)
	require.NoError(t, err)
	return string(c.Data)
}

// number waits for a line with a number, such as a process id.
func number(t testing.TB, p workspace.Process) int {
	t.Helper()
	var text string
	require.Eventually(t, func() bool {
		text = outputOf(t, p)
		return strings.Contains(text, "\n")
	}, time.Minute, time.Millisecond)
	n, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(t, err)
	return n
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(status), ") Z ")
}

func TestCommandLinesAreForTheShell(t *testing.T) {
	w, root := open(t, local.Config{})
	text, exit := run(t, w, `for i in 1 2; do echo "$i"; done | wc -l; pwd; echo $PWD >&2; exit 3`)
	require.Equal(t, fmt.Sprintf("2\n%s\n%s\n", root, root), text)
	require.Equal(t, workspace.Exit{Code: 3}, exit)
	text, exit = run(t, w, "no-such-program-here")
	require.Contains(t, text, "not found")
	require.Equal(t, 127, exit.Code)
}

func TestProgramsAreFoundInTheCommandsDirectory(t *testing.T) {
	w, root := open(t, local.Config{})
	require.NoError(t, workspacetest.OSDisk{}.WriteFile(filepath.Join(root, "sub", "tool"), []byte("#!/bin/sh\nexit 6\n"), 0o755))
	p, err := w.Start(t.Context(), workspace.Command{Args: []string{"./tool"}, Dir: "sub"})
	require.NoError(t, err)
	exit, err := p.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, workspace.Exit{Code: 6}, exit)
	_, err = w.Start(t.Context(), workspace.Command{Args: []string{"./tool"}})
	require.ErrorIs(t, err, workspace.ErrNoProgram)
}

func TestExitNamesSignals(t *testing.T) {
	w, _ := open(t, local.Config{})
	_, exit := run(t, w, "kill -SEGV $$")
	require.Equal(t, workspace.Exit{Code: -1, Signal: "segmentation fault"}, exit)
	_, exit = run(t, w, "exit 139")
	require.Equal(t, workspace.Exit{Code: 139}, exit)
}

// A server that was started with & holds the output open.
func TestWaitDoesNotWaitForBackgroundProcesses(t *testing.T) {
	w, _ := open(t, local.Config{})
	p := start(t, w, "sleep 300 & echo $!; exit 2")
	exit, err := p.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, workspace.Exit{Code: 2}, exit)
	child := number(t, p) // all that the command wrote is there
	require.True(t, alive(child))
	require.NoError(t, p.Close(t.Context()))
	require.False(t, alive(child))
}

func TestOutputOfBackgroundProcessesIsKept(t *testing.T) {
	w, root := open(t, local.Config{})
	p := start(t, w, "(while [ ! -e go ]; do sleep 0.01; done; echo later) & echo now")
	_, err := p.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "now\n", outputOf(t, p))
	put(t, filepath.Join(root, "go"), "")
	require.Eventually(t, func() bool { return outputOf(t, p) == "now\nlater\n" }, time.Minute, time.Millisecond)
}

func TestCloseOfTheWorkspaceEndsItsCommands(t *testing.T) {
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Grace: 10 * time.Millisecond})
	require.NoError(t, err)
	var pids []int
	for _, line := range []string{"echo $$; exec sleep 300", "trap '' TERM; echo $$; while :; do sleep 1; done", "sleep 300 & echo $!"} {
		pids = append(pids, number(t, start(t, w, line)))
	}
	require.NoError(t, w.Close())
	for _, pid := range pids {
		require.False(t, alive(pid))
	}
}

func TestCloseEndsWithItsContext(t *testing.T) {
	w, _ := open(t, local.Config{Grace: time.Second})
	p := start(t, w, "trap '' TERM; echo $$; while :; do sleep 1; done")
	number(t, p)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrDeadlineExceeded)
	require.ErrorIs(t, p.Close(ctx), os.ErrDeadlineExceeded)
	_, err := p.Output(t.Context(), 0, 0)
	require.ErrorIs(t, err, workspace.ErrClosed)
	require.NoError(t, p.Close(t.Context()))
}

func TestTimeLimitEndsACommand(t *testing.T) {
	w, _ := open(t, local.Config{TimeLimit: 50 * time.Millisecond})
	text, exit := run(t, w, "echo begun; sleep 300")
	require.Equal(t, workspace.Exit{Code: -1, Signal: "killed"}, exit)
	_ = text // the limit may come before the first line
}

// No list of names knows every secret, so names that are not known to be ordinary are not passed
// on. A name must stand in PassEnv.
func TestCommandsGetWhatIsOrdinaryOrNamed(t *testing.T) {
	ordinary := []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C", "LC_MESSAGES=C", "GOFLAGS=-x", "HTTPS_PROXY=http://proxy:3128", "NO_PROXY=a,b", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GOPROXY=https://proxy.example|direct", "DOCKER_HOST=ssh://ada@host", "XDG_CACHE_HOME=/c",
	}
	secret := []string{
		"OPENAI_API_KEY=1", "openai_base_url=2", "MY_TOKEN=3", "DB_PASSWORD=4", "GH_TOKEN=6", "AWS_ACCESS_KEY_ID=7", "SMTP_PASS=8", "GITHUB_PAT=9", "STRIPE_KEY=10",
		"REDIS_URL=redis://:pw@host", "DATABASE_URL=11", "SLACK_WEBHOOK=12", "SENTRY=13", "MY_APP_CONFIG=14", "KUBE_AUTH=15", "NPM_CONFIG__AUTH=16", "PGPASSFILE=17",
		"http_proxy=http://ada:pw@proxy:3128", "ALL_PROXY=ada:pw@proxy:3128", "PIP_INDEX_URL=https://token@index/simple", "GOPRIVATE_=18", "LANGSMITH_API=19", "PATHS=20", "CI_JOB_JWT=21",
		"BUNDLE_GEMS__EXAMPLE__COM=ada:pw", "CARGO_REGISTRIES_MINE_TOKEN=22", "UV_PUBLISH=23", "NODE_AUTH=24", "TWINE=25", "SSHPASS=26", "BW_SESSION=27", "OP_SERVICE=28",
	}
	name := func(v string) string { return strings.SplitN(v, "=", 2)[0] }
	got := func(pass ...string) (all []string) {
		w, _ := open(t, local.Config{Env: append(append([]string{}, secret...), ordinary...), PassEnv: pass})
		text, exit := run(t, w, "env")
		require.Zero(t, exit.Code)
		for line := range strings.Lines(text) {
			if n := name(line); n != "PWD" && n != "OLDPWD" && n != "SHLVL" && n != "_" {
				all = append(all, n)
			}
		}
		return all
	}
	var common, everything []string
	for _, v := range ordinary {
		common = append(common, name(v))
	}
	for _, v := range append(append([]string{}, secret...), ordinary...) {
		everything = append(everything, name(v))
	}
	require.ElementsMatch(t, common, got())
	require.ElementsMatch(t, append(common, "GH_TOKEN", "http_proxy"), got("gh_*", "HTTP_PROXY"))
	require.ElementsMatch(t, everything, got("*"))
}

func TestSecretNames(t *testing.T) {
	for _, name := range []string{
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY",
		"GROQ_API_KEY", "LLAMA_API_KEY", "MISTRAL_API_KEY", "NVIDIA_API_KEY", "OLLAMA_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "VLLM_API_KEY", "XAI_API_KEY",
		"ANTHROPIC_AUTH_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "NPM_TOKEN", "token", "Client_Secret", "PGPASSWORD",
	} {
		require.True(t, local.Secret(name), name)
	}
	for _, name := range []string{"PATH", "HOME", "SSH_AUTH_SOCK", "GOPATH", "LANG", "TERM", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SECRETARY", "AWS_REGION", "GOOGLE_CLOUD_PROJECT", "KEYMAP", "XDG_RUNTIME_DIR", ""} {
		require.False(t, local.Secret(name), name)
	}
}

// What is kept is checked against the whole output for limits around the sizes of writes.
func TestOutputKeepsItsEnd(t *testing.T) {
	const line = "seq 1 2000" // 8,893 bytes
	whole, _ := open(t, local.Config{})
	all, _ := run(t, whole, line)
	require.Len(t, all, 8893)
	for _, limit := range []int{1, 7, 100, 4096, 8892, 8893, 8894, 100_000} {
		w, _ := open(t, local.Config{OutputLimit: limit})
		p := start(t, w, line)
		_, err := p.Wait(t.Context())
		require.NoError(t, err)
		c, err := p.Output(t.Context(), 0, 0)
		require.NoError(t, err)
		kept := min(limit, len(all))
		require.Equal(t, all[len(all)-kept:], string(c.Data), "limit %d", limit)
		require.Equal(t, int64(len(all)-kept), c.From)
		require.Equal(t, int64(len(all)), c.End)
		require.Equal(t, kept < len(all), c.Lost)
		for from := int64(-20); from < 9000; from += 37 {
			c, err := p.Output(t.Context(), from, 11)
			require.NoError(t, err)
			want := all[c.From:min(int(c.From)+11, len(all))]
			if kept < len(all) && c.From < int64(limit/4) { // the beginning, which may end here
				want = want[:min(len(want), limit/4-int(c.From))]
			}
			require.Equal(t, want, string(c.Data), "%d from %d", limit, from)
		}
	}
}

// Of a long output, whoever reads on from its beginning gets the beginning and the end.
func TestOutputKeepsItsBeginning(t *testing.T) {
	const line = "seq 1 2000"
	whole, _ := open(t, local.Config{})
	all, _ := run(t, whole, line)
	for _, limit := range []int{3, 4, 100, 4096, 8892, 8893} {
		w, _ := open(t, local.Config{OutputLimit: limit})
		p := start(t, w, line)
		_, err := p.Wait(t.Context())
		require.NoError(t, err)
		var got []byte
		var lost int64
		for at := int64(0); at < int64(len(all)); {
			c, err := p.Output(t.Context(), at, 11)
			require.NoError(t, err)
			require.NotEmpty(t, c.Data)
			require.LessOrEqual(t, len(c.Data), 11)
			require.Equal(t, c.From > at, c.Lost, "limit %d, at %d", limit, at)
			lost += c.From - at
			got = append(got, c.Data...)
			at = c.From + int64(len(c.Data))
		}
		if limit >= len(all) {
			require.Equal(t, all, string(got))
			continue
		}
		require.Equal(t, int64(max(len(all)-limit-limit/4, 0)), lost, "limit %d", limit)
		head := min(limit/4, len(all)-limit)
		require.Equal(t, all[:head]+all[len(all)-limit:], string(got), "limit %d", limit)
	}
}

func TestGigabyteOfOutputTakesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 1 GB")
	}
	w, _ := open(t, local.Config{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := start(t, w, "head -c 1073741824 /dev/zero; echo end")
	_, err := p.Wait(t.Context())
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	c, err := p.Output(t.Context(), -4, 0)
	require.NoError(t, err)
	require.Equal(t, "end\n", string(c.Data))
	require.Equal(t, int64(1<<30+4), c.End)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// Systems bound the length of an argument, Linux at 128 KiB. The error says so and does not repeat the line.
func TestCommandThatIsTooLongForTheSystem(t *testing.T) {
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	defer w.Close()
	long := strings.Repeat("x", 5<<20)
	for _, c := range []workspace.Command{{Line: "echo " + long}, {Args: []string{"echo", long}}, {Line: "true", Env: []string{"A=" + long}}} {
		_, err := w.Start(t.Context(), c)
		require.ErrorIs(t, err, workspace.ErrTooLarge)
		require.Less(t, len(err.Error()), 200)
	}
	_, err = w.Start(t.Context(), workspace.Command{Args: []string{long}})
	require.Error(t, err)
	require.Less(t, len(err.Error()), 2000)
}
