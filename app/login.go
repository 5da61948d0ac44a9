// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ponte-go/ponte/app/internal/keys"
	"github.com/ponte-go/ponte/internal/show"
)

// login is the command "login", or "logout".
func (e *Env) login(command string) *cobra.Command {
	c := &cobra.Command{Use: command + " [PROVIDER]", GroupID: groupOther, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usage("unknown argument %q", show.Line(args[1]))
		}
		provider := strings.Join(args, "")
		if provider == "" { // an editor puts the command behind its own arguments
			provider, _, _ = strings.Cut(*e.modelName, ":")
		}
		return e.KeepKey(cmd.Context(), command == "logout", provider)
	}}
	if command == "logout" {
		c.Short, c.Long = "Forget the API key of a provider", "Forgets the API key of a provider, openai unless another is given."
		return c
	}
	c.Short = "Keep the API key of a provider"
	c.Long = fmt.Sprintf(`Asks for the API key of a provider without showing it, and keeps it for %s. PROVIDER is openai unless
it is given. The key is kept in the system's keyring. Where there is none, it is in a file that only
you can read: %s/keys.json in your configuration directory, or what %s names. Without a
terminal the key is the first line of the input. A key in the environment comes before a kept one.`, e.Name, e.Name, keys.Variable(e.Name))
	return c
}

// KeepKey is the command "login": it asks for the API key of a provider and keeps it. An empty
// provider is openai. With forget, it is "logout".
func (e *Env) KeepKey(ctx context.Context, forget bool, provider string) error {
	provider = cmp.Or(provider, "openai")
	_, variable := keyOf(provider)
	if variable == "" {
		var known []string
		for p := range keyVariables() {
			known = append(known, p)
		}
		return Usage("no key is needed for %q%s", show.Line(provider), didYouMean(provider, known...))
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	var done string
	var err error
	if forget {
		done = "The key is removed."
		if err = e.stores().Remove(ctx, variable); errors.Is(err, keys.ErrNone) {
			done, err = "No key is stored.", nil
		}
	} else {
		done, err = e.storeKey(ctx, provider, variable)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(e.Err, "\n%s: interrupted\n", e.Name)
		return &ExitError{130, nil}
	case err != nil:
		return err
	}
	fmt.Fprintln(e.Out, done)
	if e.Getenv(variable) != "" {
		fmt.Fprintf(e.Out, "%s is set in the environment, and comes first.\n", variable)
	}
	return nil
}

// storeKey asks for a key and stores it.
func (e *Env) storeKey(ctx context.Context, provider, variable string) (done string, err error) {
	var key string
	if f, ok := e.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(e.Err, "API key of %s (not shown): ", provider)
		key, err = readHidden(ctx, int(f.Fd()))
		fmt.Fprintln(e.Err)
	} else {
		key, err = bufio.NewReader(io.LimitReader(e.In, 10_000)).ReadString('\n')
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
	where, err := e.stores().Set(ctx, variable, key)
	return "The key is kept in " + where + ".", err
}

// readHidden reads a line without showing it, until ctx ends.
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
