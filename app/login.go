// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"github.com/ponte-go/ponte/app/internal/keys"
	"github.com/ponte-go/ponte/internal/show"
)

const loginUsage = `Keep the API key of a provider, for ideagent to use.

Usage:

	ideagent login [PROVIDER]    ask for a key, without showing it, and keep it
	ideagent logout [PROVIDER]   forget the key

PROVIDER is openai unless it is given. The key is kept in the system's keyring. Where there is none, it is in a file that
only you can read: ideagent/keys.json in your configuration directory, or what IDEAGENT_KEYS names. Without a terminal
the key is the first line of the input. A key in the environment comes before a kept one.
`

// loginCommand is "ideagent login" and "ideagent logout".
func loginCommand(command string, args []string) int {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	if code, done := parseFlags(flags, args, loginUsage); done {
		return code
	}
	if flags.NArg() > 1 {
		return misuse(fmt.Errorf("unknown argument %q", flags.Arg(1)))
	}
	return keepKey(command, cmp.Or(flags.Arg(0), "openai"))
}

func keepKey(command, provider string) int {
	_, variable := keyOf(provider)
	if variable == "" {
		var known []string
		for p := range keyVariables() {
			known = append(known, p)
		}
		return misuse(fmt.Errorf("no key is needed for %q%s", show.Line(provider), didYouMean(provider, known...)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stored := keys.Open(os.Getenv)
	var done string
	var err error
	if command == "logout" {
		done = "The key is removed."
		if err = stored.Remove(ctx, variable); errors.Is(err, keys.ErrNone) {
			done, err = "No key is stored.", nil
		}
	} else {
		done, err = storeKey(ctx, stored, provider, variable)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "\nideagent: interrupted")
		return 130
	case err != nil:
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
	}
	fmt.Fprintln(stdout, done)
	if os.Getenv(variable) != "" {
		fmt.Fprintf(stdout, "%s is set in the environment, and comes first.\n", variable)
	}
	return exitOK
}

func storeKey(ctx context.Context, stored *keys.Keys, provider, variable string) (done string, err error) {
	var key string
	if fd := int(os.Stdin.Fd()); term.IsTerminal(fd) {
		fmt.Fprintf(os.Stderr, "API key of %s (not shown): ", provider)
		key, err = readHidden(ctx, fd)
		fmt.Fprintln(os.Stderr)
	} else {
		key, err = bufio.NewReader(io.LimitReader(os.Stdin, 10_000)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return "", err
	}
	key = strings.TrimSpace(key)
	if key == "" || !show.Plain(key) || strings.Contains(key, " ") {
		return "", errors.New("this is not a key: it is empty, or has characters that keys do not have")
	}
	where, err := stored.Set(ctx, variable, key)
	return "The key is kept in " + where + ".", err
}

// readHidden reads a line of a terminal without showing it. The terminal is as before afterwards, also if ctx ends.
func readHidden(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return string(l.text), l.err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}
