// SPDX-License-Identifier: Apache-2.0

//go:build unix

package command_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// shells are those that are on this machine.
func shells() (all [][]string) {
	for _, s := range [][]string{{"dash"}, {"bash"}, {"bash", "--posix"}, {"zsh", "-f"}, {"busybox", "sh"}} {
		if path, err := exec.LookPath(s[0]); err == nil {
			all = append(all, append([]string{path}, s[1:]...))
		}
	}
	return all
}

// stubs are programs that note their directory and their arguments.
var stubs = strings.Fields("git go ls cat rm cp npm make grep sed curl docker python3 evil sort tee env xargs find touch mkdir")

// randomLine makes a line that shells might understand.
func randomLine(r *rand.Rand, depth int) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	word := func() string {
		text := pick("a", "b.txt", "sub", "-x", "--name=v", "push", "status", "x/y", "HEAD~2", "a,b", "@", "1", "w:z", "größe", "+x")
		switch r.IntN(14) {
		case 0:
			return "'" + text + "'"
		case 1:
			return `"` + text + ` c"`
		case 2:
			return text[:1] + `\` + text[1:]
		case 3:
			return text + pick("*", "?", "[a]", "{1,2}", "$X", "${X}", "$(evil x)", "`evil y`", "~", "$'\\x61'", "\\\n", "''", `"$X"`, "!", "=x", "^")
		case 4:
			return pick("~", "~/x", "$HOME", `"$@"`, "$((1+1))", "$$", `\$X`, "%", "#x", "x#", "=a", "''", "{}", "{a}")
		}
		return text
	}
	simple := func() string {
		words := []string{pick(stubs...)}
		switch r.IntN(12) {
		case 0:
			words[0] = pick("echo", "true", "cd", "pwd", "printf", "test", "false", ":", "eval", "exec", "command", "export", "set", "unset", "alias", "type")
		case 1:
			words = []string{pick("A=b", "X=push", "PATH=$PATH", "IFS=:"), words[0]}
		case 2:
			words[0] = pick(`"`+words[0]+`"`, `\`+words[0], "'"+words[0]+"'", words[0][:1]+"''"+words[0][1:], "$X")
		}
		for range r.IntN(4) {
			words = append(words, word())
		}
		switch r.IntN(10) {
		case 0:
			words = append(words, pick(">", ">>", "2>", "<", ">|")+pick(" out", "out2", "/dev/null"))
		case 1:
			words = append(words, pick("2>&1", ">/dev/null", "2>/dev/null", ">&2"))
		}
		return strings.Join(words, pick(" ", " ", " ", "  ", "\t"))
	}
	line := simple()
	for range r.IntN(3) {
		line += pick(" && ", " || ", " | ", "; ", "\n", " & ", " |& ") + simple()
	}
	if depth < 2 && r.IntN(4) == 0 {
		inner := randomLine(r, depth+1)
		line = fmt.Sprintf(pick("(%s)", "{ %s\n}", "if true; then %s\nfi", "for i in 1 2; do %s\ndone", "! %s", "f() { %s\n}; f", "cat <<E\n%s\nE", "case a in a) %s ;; esac", "time %s", "while evil; do %s\nbreak; done", "%s # x"), inner)
	}
	return line
}

// What programs get is what the effects said, in each shell: a program that ran has an effect with these arguments in this directory, unless the
// effects say that the words could not be told.
func TestShellsRunWhatTheEffectsSay(t *testing.T) {
	lines := 150
	if n, err := strconv.Atoi(os.Getenv("PONTE_SHELL_LINES")); err == nil {
		lines = n
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	bin, work := filepath.Join(dir, "bin"), filepath.Join(dir, "work")
	require.NoError(t, os.MkdirAll(bin, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(work, "sub"), 0o700))
	for _, name := range []string{"b.txt", "a1", "a2", "x"} {
		require.NoError(t, os.WriteFile(filepath.Join(work, name), nil, 0o600))
	}
	for _, name := range stubs {
		script := "#!/bin/sh\nprintf '%s\\0' " + name + " \"$PWD\" \"$@\" > \"$PONTE_LOG.$$\"\nexit 1\n"
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700))
	}
	r := rand.New(rand.NewPCG(3, 9))
	all := shells()
	certain, runs, ran, differences := 0, 0, 0, 0
	for range lines {
		line := randomLine(r, 0)
		effects := command.Effects(command.Command{Line: line, Dir: work}, command.Place{})
		told := tells(effects)
		if told {
			certain++
		}
		for _, shell := range all {
			log := filepath.Join(dir, fmt.Sprint("log", runs)) // of its own, because programs in the background write late
			runs++
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], "-c", line)...)
			cmd.Dir, cmd.Env = work, []string{"PATH=" + bin, "HOME=" + dir, "LC_ALL=C.UTF-8", "PONTE_LOG=" + log}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if cmd.Start() == nil {
				_ = cmd.Wait() // whatever it comes to
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			}
			cancel()
			records, err := filepath.Glob(log + ".*") // one of each process
			require.NoError(t, err)
			for _, name := range records {
				record, err := os.ReadFile(name)
				require.NoError(t, err)
				if len(record) == 0 { // which is in the background, and about to write
					continue
				}
				ran++
				fields := strings.Split(strings.TrimSuffix(string(record), "\x00"), "\x00")
				argv := append([]string{fields[0]}, fields[2:]...)
				if told && !slices.ContainsFunc(effects, func(e model.Effect) bool {
					return e.Kind == model.EffectRun && slices.Equal(e.Argv, argv) && (e.Dir == "" || e.Dir == fields[1])
				}) {
					differences++
					t.Errorf("%s: %q ran %q in %s; effects: %+v", shell, line, argv, fields[1], effects)
				}
			}
		}
	}
	t.Logf("%d lines in %d shells, %d of them certain: %d programs ran, %d differently", lines, len(all), certain, ran, differences)
	require.Greater(t, certain, lines/10)
}

// tells reports whether effects say all that is unknown of the programs that run: those whose words are known.
func tells(effects []model.Effect) bool {
	return !slices.ContainsFunc(effects, func(e model.Effect) bool {
		return e.Kind == model.EffectUnknown && len(e.Argv) > 0 && !slices.ContainsFunc(effects, func(o model.Effect) bool {
			return o.Kind == model.EffectRun && slices.Equal(o.Argv, e.Argv)
		})
	})
}
