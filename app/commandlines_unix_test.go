// SPDX-License-Identifier: Apache-2.0

//go:build unix

package app_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/app/offline"
)

var update = flag.Bool("update", false, "write the transcripts in testdata")

// What differs each time.
var (
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\d([ T])\d\d:\d\d(:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?`)
	homes     = regexp.MustCompile(`\bHOME\b`)
	sizes     = regexp.MustCompile(`"size":\d+`)
	secrets   = regexp.MustCompile(`"[A-Za-z0-9+/=_-]{40,}"`)
	keyNames  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d{6}\.\d{9}`)
	ids       = regexp.MustCompile(`[0-9A-Z]{26}`)
	durations = regexp.MustCompile(`after \d+(\.\d+)?[mµ]?s`)
)

// shell runs command lines of a program as a person would, one after the other, in a home of its own.
type shell struct {
	t     *testing.T
	home  string
	title string // what programs it is about
}

// run returns what a command line writes: to the standard output after "> ", to the standard error after "! ".
func (s *shell) run(line, in string) string {
	command, err := chat.ParseCommand(homes.ReplaceAllLiteralString(line, s.home))
	require.NoError(s.t, err, line)
	env := map[string]string{"XDG_STATE_HOME": filepath.Join(s.home, "state"), "DESK_KEYS": filepath.Join(s.home, "keys.json"), "OLLAMA_HOST": "127.0.0.1:9"}
	for _, set := range command.Env {
		name, value, _ := strings.Cut(set, "=")
		env[name] = value
	}
	var out, said bytes.Buffer
	config := app.Config[any, string]{
		Name: "desk", About: "Help at the desk", Title: "Desk", Version: "1.2.3",
		Agent:    agent.Must(agent.New(agent.Config[any, string]{})),
		Demo:     func(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) },
		Surfaces: []app.Surface{chat.New(chat.Options{})},
		Commands: []func(*app.Env) *cobra.Command{
			func(e *app.Env) *cobra.Command {
				c := &cobra.Command{Use: "stamp [WORD...]", Short: "Stamp words", RunE: func(c *cobra.Command, args []string) error {
					flags := map[string]string{}
					c.Flags().Visit(func(f *pflag.Flag) { flags[f.Name] = f.Value.String() })
					_, err := fmt.Fprintf(e.Out, "%q %v\n", args, flags)
					return err
				}}
				c.Flags().BoolP("loud", "l", false, "stamp loudly")
				c.Flags().Int("times", 1, "how `often`")
				return c
			},
			func(e *app.Env) *cobra.Command {
				return app.PassRest(&cobra.Command{Use: "rest PROGRAM", Short: "Run it", RunE: func(_ *cobra.Command, args []string) error {
					_, err := fmt.Fprintf(e.Out, "%q\n", args)
					return err
				}})
			},
			func(e *app.Env) *cobra.Command {
				return &cobra.Command{Use: "begin ID DIR PROMPT", Hidden: true, RunE: func(c *cobra.Command, args []string) error {
					store, err := e.Store(c.Context())
					if err != nil {
						return err
					}
					return converse(c.Context(), store, args[0], args[1], args[2])
				}}
			},
			func(e *app.Env) *cobra.Command {
				return &cobra.Command{Use: "write FILE", Hidden: true, RunE: func(_ *cobra.Command, args []string) error {
					data, err := io.ReadAll(e.In)
					_ = os.MkdirAll(filepath.Dir(args[0]), 0o700)
					return errors.Join(err, os.WriteFile(args[0], data, 0o600))
				}}
			},
			func(e *app.Env) *cobra.Command {
				return &cobra.Command{Use: "read FILE", Hidden: true, RunE: func(_ *cobra.Command, args []string) error {
					info, err := os.Stat(args[0])
					if err != nil {
						return err
					}
					data, err := os.ReadFile(args[0])
					fmt.Fprintf(e.Out, "%v %s", info.Mode(), data)
					return err
				}}
			},
			func(*app.Env) *cobra.Command {
				return &cobra.Command{Use: "fail", Hidden: true, RunE: func(_ *cobra.Command, args []string) error {
					switch strings.Join(args, " ") {
					case "seven":
						return &app.ExitError{Code: 7, Err: errors.New("seven\nlines")}
					case "mute":
						return &app.ExitError{Code: 8}
					case "usage":
						return app.Usage("say %d", 9)
					case "two":
						return errors.Join(errors.New("one"), errors.New("two"))
					}
					return errors.New("it failed")
				}}
			},
		},
		Checks: []func(context.Context, *app.Env) []app.Check{func(context.Context, *app.Env) []app.Check {
			return []app.Check{{Name: "tea", Found: "there is\ntea"}}
		}},
	}
	switch s.title {
	case "a store of the program's own":
		config.Store = func(context.Context, *app.Env) (session.Store, error) { return s.own() }
	case "a model of the program's own":
		config.Agent = agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("An answer."))}))
		config.Demo = nil
	case "a program without much":
		config.Demo, config.Surfaces, config.Checks = nil, nil, []func(context.Context, *app.Env) []app.Check{func(context.Context, *app.Env) []app.Check {
			return []app.Check{{Name: "te\na", Err: errors.New("no\n  tea\x1b"), Mend: "buy\nsome"}, {Name: "cup", Err: errors.New("no cup")}}
		}}
	case "another command that runs by default":
		config.Default, config.Help = "stamp", "Stamps what it gets.\nThat is all."
	}
	code := app.Run(s.t.Context(), config, app.Process{
		Args: command.Args, In: strings.NewReader(in), Out: &out, Err: &said, Getenv: func(name string) string { return env[name] },
	})
	// Which model there is may be found out before the end of a program that does not need it, or not.
	errs := searched.ReplaceAllString(said.String(), "")
	return s.plain("> ", out.String()) + s.plain("! ", errs) + fmt.Sprintf("= %d\n", code)
}

var searched = regexp.MustCompile(`(?m)^desk: model offline \(.*\n`)

// own opens the store that a program has, once in a home.
func (s *shell) own() (session.Store, error) {
	switch data, err := os.ReadFile(filepath.Join(s.home, "own")); {
	case err == nil && strings.HasPrefix(string(data), "none"):
		return nil, nil
	case err == nil:
		return nil, errors.New(strings.TrimSpace(string(data)))
	}
	return kept, nil
}

// kept is the store of programs that have one.
var kept session.Store

// converse makes a session with a turn.
func converse(ctx context.Context, store session.Store, id, dir, prompt string) error {
	if _, err := store.Create(ctx, session.New{ID: id, Title: "About " + prompt, Dir: dir}); err != nil {
		return err
	}
	w, err := session.Open(ctx, store, id, session.Claim{})
	if err != nil {
		return err
	}
	c, err := transcript.Open(ctx, w, transcript.Options{})
	if err != nil {
		return err
	}
	turn, err := c.Begin(ctx, model.User(prompt))
	if err != nil {
		return err
	}
	a := agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("An answer."))}))
	res, err := a.Run(ctx, nil, prompt, turn.Options()...)
	return errors.Join(transcript.End(ctx, turn, res, err), w.Close(ctx))
}

// plain returns what was written without what differs each time.
func (s *shell) plain(mark, written string) (all string) {
	written = strings.NewReplacer(s.home, "HOME", runtime.Version(), "GO", runtime.GOOS+"/"+runtime.GOARCH, "SYSTEM").Replace(written)
	written = durations.ReplaceAllString(times.ReplaceAllString(written, "TIME"), "after TIME")
	written = sizes.ReplaceAllString(written, `"size":N`)
	written = ids.ReplaceAllString(keyNames.ReplaceAllString(secrets.ReplaceAllString(written, `"SECRET"`), "KEY"), "ID")
	for line := range strings.Lines(written) {
		all += strings.TrimRight(mark+line, " \n") + "\n"
	}
	return all
}

// What command lines write, with which exit code. A line that begins with "$ " is one, "< " its input; "# " empties the home.
func TestCommandLines(t *testing.T) {
	t.Cleanup(func() { linked.Encryption = nil })
	data, err := os.ReadFile("testdata/commandlines.txt")
	require.NoError(t, err)
	var s *shell
	var b strings.Builder
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if title, ok := strings.CutPrefix(lines[i], "# "); ok {
			s = &shell{t: t, home: t.TempDir(), title: title}
			linked.Encryption, kept = nil, new(session.Memory)
			if strings.HasPrefix(title, "encrypted sessions") {
				linked.Encryption = &linked.WithEncryption{Encrypted: session.Encrypted, Parse: session.ParseKeyring, Rotated: session.Keyring.Rotated}
			}
			t.Setenv("HOME", s.home)
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(s.home, "config"))
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			b.WriteString("# " + title + "\n")
		}
		line, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			continue
		}
		b.WriteString(lines[i] + "\n")
		in := ""
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "< ") {
			i++
			b.WriteString(lines[i] + "\n")
			in += lines[i][2:] + "\n"
		}
		b.WriteString(s.run(line, in))
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/commandlines.txt", []byte(b.String()), 0o644))
	}
	require.Equal(t, strings.Join(lines, "\n"), b.String(), "go test -update writes it anew")
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What cannot be written is an error, whatever the command says of it.
func TestOutputThatCannotBeWritten(t *testing.T) {
	for args, want := range map[string]int{"version": 1, "stamp": 1, "-h": 1} {
		var said bytes.Buffer
		code := app.Run(t.Context(), app.Config[any, string]{
			Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{})),
			Commands: []func(*app.Env) *cobra.Command{func(e *app.Env) *cobra.Command {
				return &cobra.Command{Use: "stamp", RunE: func(*cobra.Command, []string) error {
					_, _ = fmt.Fprintln(e.Out, "stamped")
					return nil
				}}
			}},
		}, app.Process{Args: []string{args}, In: strings.NewReader(""), Out: full{}, Err: &said, Getenv: func(string) string { return "" }})
		require.Equal(t, want, code, "%s: %s", args, said.String())
		require.Contains(t, said.String(), "no space left", args)
	}
}
