// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// No server can hang a call, end a run, or leave a process behind, however it misbehaves.
func TestMisbehavingServers(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"exits at once":                "fake: it exited with code 3: fake: no license",
		"never answers":                "fake has not started within 500ms",
		"never reads":                  "fake has not started within 500ms",
		"prints garbage":               `fake: it has sent "Welcome to the fake language server!" where the header of a message belongs`,
		"prints an endless line":       "it has sent a header that is too long",
		"announces a huge message":     "it has sent a message of 99999999999 bytes; at most 67108864 are accepted",
		"announces a negative length":  "it has sent a malformed Content-Length",
		"announces no length":          "it has sent a message without Content-Length",
		"announces more than it sends": "",
		"sends no JSON":                "it has sent a message that is not JSON-RPC",
		"floods with notifications":    "it has sent 50001 messages",
		"floods with requests":         "",
		"floods with answers":          "it keeps answering requests that nobody has made",
		"floods its errors":            "ok",
		"ignores the end":              "ok",
		"leaves a child":               "ok",
		"counts in another encoding":   "fake counts characters in utf-32, which it was not offered",
		"exits when asked":             "fake: it exited with code 7",
		"hangs when asked":             "fake has not answered",
		"hangs when told":              "fake has not answered",
		"answers with errors":          "The language server answered with an error: internal error: ⟨ESC⟩[31mred⟨ESC⟩[0m",
		"answers with other types":     "malformed",
		"answers with numbers":         "malformed",
		"answers with nothing":         "run is mentioned in a.toy, but is not a symbol there.",
		"places symbols outside":       "The language server fake has placed run outside of a.toy.",
		"publishes a lot":              "ok",
		"publishes nothing":            "ok",
		"never finishes":               "ok",
		"edits unasked":                "ok",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := fakeConfig(t, mode)
			c.StartTimeout, c.CallTimeout, c.ReadyTimeout = 500*time.Millisecond, 500*time.Millisecond, 100*time.Millisecond
			silent := []string{"never answers", "never reads", "announces more than it sends"}
			if !slices.Contains(silent, mode) { // they end by themselves, or start
				c.StartTimeout, c.CallTimeout = 20*time.Second, 20*time.Second
			}
			if strings.HasPrefix(mode, "hangs") {
				c.CallTimeout = 500 * time.Millisecond
			}
			b := newBench(t, c, lsptoolset.Options{Trust: true}, project)
			res := b.call("find_definition", `{"symbol":"run","path":"a.toy"}`)
			if want == "ok" {
				require.Contains(t, res.Text, "a.toy:4: def run")
				b.call("rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`)
				require.Contains(t, b.read("a.toy"), "def walk")
			} else {
				require.NotEmpty(t, res.Outcome)
				require.Contains(t, res.Text, want)
			}
			require.NotContains(t, res.Text, "\x1b")
			began := time.Now()
			require.NoError(t, b.servers.Close())
			require.Less(t, time.Since(began), 20*time.Second)
			_, err := b.try("find_definition", `{"symbol":"run","path":"a.toy"}`)
			require.ErrorIs(t, err, lsptoolset.ErrClosed)
		})
	}
}

// A server that uses too much memory is ended.
func TestMemoryIsLimited(t *testing.T) {
	c := fakeConfig(t, "eats memory")
	c.Memory = 200 << 20
	b := newBench(t, c, lsptoolset.Options{Trust: true}, project)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("memory is known on Linux only")
	}
	require.Eventually(t, func() bool {
		return strings.Contains(
			b.call("find_symbols", `{"path":"a.toy"}`).Text,
			"MiB of memory; 200 MiB are allowed",
		)
	}, time.Minute, 10*time.Millisecond)
}

// A server that dies is started again, later each time, and then given up. /diagnostics starts
// over.
func TestServersAreGivenUp(t *testing.T) {
	b := newBench(t, fakeConfig(t, "exits at once"), lsptoolset.Options{Trust: true}, project)
	text := ""
	require.Eventually(t, func() bool {
		text = b.call("find_symbols", `{"path":"a.toy"}`).Text
		return strings.Contains(text, "has failed 5 times in a row and is not started again")
	}, time.Minute, 10*time.Millisecond)
	st := b.servers.Status()
	require.Equal(t, lsptoolset.StateFailed, st[0].State)
	require.ErrorContains(t, st[0].Err, "fake: no license")
	cap := lsptoolset.Capability(b.servers, identity, lsptoolset.Options{})
	_, err := cap.Commands[0].Run(t.Context(), commandCall{Deps: b.session})
	require.ErrorContains(t, err, "no license")
	require.NotContains(t, err.Error(), "5 times")
}

// A server that died is started again by the next call.
func TestServersAreStartedAgain(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	for range 2 {
		require.Contains(t, b.call("find_symbols", `{"path":"a.toy"}`).Text, "function run")
		b.servers.KillAll()
	}
	require.Eventually(
		t,
		func() bool { return strings.Contains(b.call("find_symbols", `{"path":"a.toy"}`).Text, "function run") },
		time.Minute,
		10*time.Millisecond,
	)
}

// Servers that nobody uses are ended, and started again when they are needed.
func TestIdleServersEnd(t *testing.T) {
	c := fakeConfig(t, "good")
	c.Idle = 100 * time.Millisecond
	b := newBench(t, c, lsptoolset.Options{}, project)
	b.call("find_symbols", `{"path":"a.toy"}`)
	require.Eventually(
		t,
		func() bool { return b.servers.Status()[0].State == lsptoolset.StateIdle },
		time.Minute,
		10*time.Millisecond,
	)
	b.asked = nil
	require.Contains(t, b.call("find_symbols", `{"path":"a.toy"}`).Text, "function run")
	require.Empty(t, b.asked)
}

// The end of a run's context ends its call at once.
func TestCallsEndWithTheirContext(t *testing.T) {
	b := newBench(t, fakeConfig(t, "hangs when asked"), lsptoolset.Options{Trust: true}, project)
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	time.AfterFunc(300*time.Millisecond, func() { cancel(because) })
	began := time.Now()
	_, err := toolsetCall(ctx, b, "find_symbols", `{"path":"a.toy"}`)
	require.ErrorIs(t, err, because)
	require.Nil(t, toolset.Outcome(err))
	require.Less(t, time.Since(began), 4*time.Second)
}

func TestConfigIsChecked(t *testing.T) {
	_, err := lsptoolset.New(lsptoolset.Config{
		Servers: []lsptoolset.Server{
			{
				Name:    "a b",
				Command: []string{"x"},
				Files:   map[string]string{".x": "x"},
			}, {Name: "c", Files: map[string]string{"x": "x"}},
			{Name: "c", Command: []string{"x"}, Env: []string{"A=b", "secret"}},
		}, CallTimeout: -1, Run: local.Config{TimeLimit: -1},
	})
	for _, want := range []string{
		`Servers[0]: Name "a b" must have`, `server "c": Command is empty`, `server "c": Files has "x": "x"`, `there are two servers called "c"`,
		`server "c": Files is empty`, `server "c": Env[1] is not of the form NAME=value`, "ReadyTimeout must not be negative", "Run.TimeLimit must not be negative",
	} {
		require.ErrorContains(t, err, want)
	}
}
