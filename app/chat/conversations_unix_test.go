// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	_ "github.com/ponte-go/ponte/app/encryption" // for the flag in the help
	"github.com/ponte-go/ponte/app/offline"
)

var update = flag.Bool("update", false, "write the conversations in testdata")

// converse runs a command line of a program with its input, and returns what it writes: to the standard output after
// "> ", to the standard error after "! ".
func converse(t *testing.T, home, line, in string) string {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	line = strings.NewReplacer("HOME", home, "SELF", self+" agent").Replace(line)
	command, err := chat.ParseCommand(line)
	require.NoError(t, err, line)
	env := map[string]string{"XDG_STATE_HOME": filepath.Join(home, "state"), "DESK_KEYS": filepath.Join(home, "keys.json"), "OLLAMA_HOST": "127.0.0.1:9"}
	for _, set := range command.Env {
		name, value, _ := strings.Cut(set, "=")
		env[name] = value
	}
	var out, said bytes.Buffer
	code := app.Run(t.Context(), app.Config[any, string]{
		Name: "desk", Version: "1.2.3", Agent: agent.Must(agent.New(agent.Config[any, string]{})), Surfaces: []app.Surface{chat.New(chat.Options{})},
		Demo: func(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) },
	}, app.Process{Args: command.Args, In: strings.NewReader(in), Out: &out, Err: &said, Getenv: func(name string) string { return env[name] }})
	var b strings.Builder
	for _, one := range [][2]string{{"> ", out.String()}, {"! ", said.String()}} {
		mark, written := one[0], strings.NewReplacer(home, "HOME", self, "SELF").Replace(one[1])
		for l := range strings.Lines(written) {
			b.WriteString(strings.TrimRight(mark+l, " \n") + "\n")
		}
	}
	return b.String() + fmt.Sprintf("= %d\n", code)
}

// What people see of whole conversations, in plain lines. A line that begins with "$ " is a command, "< " its input.
func TestConversations(t *testing.T) {
	data, err := os.ReadFile("testdata/conversations.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		line, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			continue
		}
		home, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
		require.NoError(t, os.WriteFile(filepath.Join(home, "a.txt"), []byte("text of a\n"), 0o600))
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(lines[i] + "\n")
		in := ""
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "<") {
			i++
			b.WriteString(lines[i] + "\n")
			in += strings.TrimPrefix(lines[i][1:], " ") + "\n"
		}
		b.WriteString(converse(t, home, line, in))
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/conversations.txt", []byte(b.String()), 0o644))
	}
	require.Equal(t, strings.Join(lines, "\n"), b.String(), "go test -update writes it anew")
}
