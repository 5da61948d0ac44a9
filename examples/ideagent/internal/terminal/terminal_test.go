// SPDX-License-Identifier: Apache-2.0

//go:build unix

package terminal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/examples/ideagent/internal/terminal"
	"github.com/ponte-go/ponte/internal/guard"
)

func start(t *testing.T, o terminal.Options) *terminal.Terminal {
	t.Helper()
	term, err := terminal.Start(o)
	require.NoError(t, err)
	t.Cleanup(term.Release)
	return term
}

func sh(script string) terminal.Options {
	return terminal.Options{Command: "sh", Args: []string{"-c", script}, Limit: -1}
}

func TestOutputIsCompleteWhenTheCommandHasEnded(t *testing.T) {
	o := sh("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo oops >&2; exit 3")
	var mu sync.Mutex
	var watched strings.Builder
	o.Watch = func(p []byte) {
		mu.Lock()
		defer mu.Unlock()
		watched.Write(p)
	}
	term := start(t, o)
	exit, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, guard.Exit{Code: 3}, exit)
	text, truncated, ended := term.Output()
	require.True(t, strings.HasSuffix(text, "line 1999\noops\n"))
	require.Equal(t, 2001, strings.Count(text, "\n"))
	require.False(t, truncated)
	require.Equal(t, &exit, ended)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, text, watched.String())
}

func TestCommandsDoNotGetModelKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("PLAIN", "plain")
	o := sh(`echo "$OPENAI_API_KEY-$PLAIN-$ADDED_TOKEN"`)
	o.Env = []string{"ADDED_TOKEN=added"}
	term := start(t, o)
	_, err := term.Wait(t.Context())
	require.NoError(t, err)
	text, _, _ := term.Output()
	require.Equal(t, "-plain-added\n", text)
}

func TestTheLastBytesAreKept(t *testing.T) {
	o := sh("printf 'äöü€'")
	o.Limit = 4
	term := start(t, o)
	_, err := term.Wait(t.Context())
	require.NoError(t, err)
	text, truncated, _ := term.Output()
	require.Equal(t, "€", text)
	require.True(t, truncated)
}

func TestEnvironmentAndDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	o := sh(`pwd -P; echo "$GREETING"; cat; test -t 0 && echo tty; echo end`)
	o.Dir, o.Env = dir, []string{"GREETING=a b=c"}
	term := start(t, o)
	_, err = term.Wait(t.Context())
	require.NoError(t, err)
	text, _, _ := term.Output()
	require.Equal(t, dir+"\na b=c\nend\n", text)
}

func TestOutputCanBeReadWhileTheCommandRuns(t *testing.T) {
	term := start(t, sh("echo begun; sleep 300"))
	require.Eventually(t, func() bool {
		text, _, exit := term.Output()
		return text == "begun\n" && exit == nil
	}, 5*time.Second, 5*time.Millisecond)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := term.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	term.Kill()
	exit, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, guard.Exit{Code: -1, Signal: "SIGTERM"}, exit)
	text, _, ended := term.Output()
	require.Equal(t, "begun\n", text)
	require.NotNil(t, ended)
}

func TestAChildInTheBackgroundDoesNotHoldUpTheEnd(t *testing.T) {
	term := start(t, sh("sleep 300 & echo parent"))
	begin := time.Now()
	exit, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, guard.Exit{}, exit)
	require.Less(t, time.Since(begin), 5*time.Second)
	text, _, _ := term.Output()
	require.Equal(t, "parent\n", text)
	term.Release()
	term.Release()
}

func TestWhatCannotRunIsAnError(t *testing.T) {
	_, err := terminal.Start(terminal.Options{Command: "no-such-program-here"})
	require.ErrorIs(t, err, guard.ErrStart)
	_, err = terminal.Start(terminal.Options{Command: "true", Dir: "relative"})
	require.ErrorContains(t, err, "not absolute")
	_, err = terminal.Start(terminal.Options{Command: "true", Dir: "/no/such/dir"})
	require.ErrorIs(t, err, os.ErrNotExist)
}
