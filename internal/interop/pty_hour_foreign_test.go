// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// TestHourOfWorkWithAgentsOfOthers does with two agents of others what people do all day, on terminals of many
// sizes, with stops, a kill and --continue: no cell is wrong, and the exit code is right.
func TestHourOfWorkWithAgentsOfOthers(t *testing.T) {
	for name, of := range map[string]struct {
		start func(t *testing.T) acpclient.Command
		again string // how it goes on after a kill: pydantic-acp keeps no sessions
	}{
		"pydantic-acp": {func(t *testing.T) acpclient.Command {
			deepTier(t)
			script, err := filepath.Abs(filepath.Join("python", "pydantic_agent.py"))
			if err != nil {
				t.Fatal(err)
			}
			return acpclient.Command{Path: filepath.Join(installed(t, pydanticPeers), "bin", "python"), Args: []string{script}}
		}, ""},
		"claude-agent-acp": {func(t *testing.T) acpclient.Command {
			command, _ := foreigners["claude-agent-acp"].at(t)
			return command
		}, "--continue"},
	} {
		t.Run(name, func(t *testing.T) {
			const interactions = 150
			command := of.start(t)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			w := &worker{glass: shell(t), random: rand.New(rand.NewPCG(seed, 1))}
			w.patience = slow
			asked := 0
			w.chatWithAgent(command, "")
			for w.done < interactions {
				asked += w.interactWithAny()
				if w.done != interactions/2 {
					continue
				}
				if err := syscall.Kill(w.pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				w.waitForText("Killed")
				w.types("\x15stty sane; printf '\\033c'; clear\r")
				w.resize(80, 24)
				w.chatWithAgent(command, of.again)
				if of.again != "" {
					w.waitForText("› Use your tools")
				}
				w.right()
			}
			if asked == 0 {
				t.Error("nothing was asked")
			}
			w.types("\x15\x04")
			w.waitFor("the shell", func(screen string) bool { return strings.HasSuffix(strings.TrimSpace(screen), "shell>") })
			w.types("clear; echo code=$?\r")
			w.waitForText("code=0")
		})
	}
}

// chatWithAgent starts the client with an agent.
func (w *worker) chatWithAgent(command acpclient.Command, flags string) {
	w.t.Helper()
	dir := w.t.TempDir()
	id, script := filepath.Join(dir, "id"), filepath.Join(dir, "start")
	line := ""
	if command.OnlyEnv {
		line = "env -i "
	}
	for _, v := range command.Env {
		line += shellWord(v) + " "
	}
	for _, word := range append([]string{command.Path}, command.Args...) {
		line += shellWord(word) + " "
	}
	text := "echo $$ >" + id + "\nexec " + binary + " chat -agent " + shellQuoted(line) + " " + flags + "\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.types("sh " + script + "\r")
	w.waitForText("What should be done?")
	data, err := os.ReadFile(id)
	if err == nil {
		w.pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// shellQuoted quotes a word whatever is in it.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// interactWithAny does one thing that any agent can take. It returns how often the person was asked.
func (w *worker) interactWithAny() (asked int) {
	w.t.Helper()
	w.done++
	switch n := w.random.IntN(11); n {
	case 0, 1, 2:
		w.types("Use your tools, 気温.\r")
		for {
			question := func(screen string) bool { return strings.Contains(screen, "━━ Question") }
			rest := ""
			w.waitFor("a question or the end of the turn", func(screen string) bool {
				defer func() { rest = screen }()
				return question(screen) || rest == screen && !strings.Contains(screen, "Ctrl-C cancels") && strings.Contains(screen, "› ")
			})
			if !question(w.settledOrAsked()) {
				break
			}
			asked++
			w.answer([]string{"y", "y", "n"}[n], "━━ Question")
			w.types("\x15")
		}
	case 3:
		w.types("\x1b[5~\x1b[5~")
	case 4:
		w.types("\x1b[6~")
	case 5:
		w.types("\x0f")
	case 6:
		w.types("half a 気温 thought\x1b[D\x1b[D!\x05\x15")
	case 7:
		w.resize(40+w.random.IntN(120), 12+w.random.IntN(30))
	case 8:
		w.types(fmt.Sprintf("!echo %d-$((40+2))\r", w.done))
		w.waitForText(fmt.Sprintf("%d-42", w.done))
	case 9:
		w.types("/keys\r")
	case 10:
		w.stopAndGoOn()
	}
	w.right()
	return asked
}

// settledOrAsked waits until the screen rests, or there is a question.
func (w *worker) settledOrAsked() string {
	w.t.Helper()
	last, since := "", time.Now()
	return w.waitFor("the screen to rest", func(screen string) bool {
		if screen != last {
			last, since = screen, time.Now()
		}
		return strings.Contains(screen, "━━ Question") || time.Since(since) > 120*time.Millisecond && !strings.Contains(screen, "Ctrl-C cancels")
	})
}
