// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/show"
)

// completing is how long a shell waits for candidates at most.
const completing = 2 * time.Second

// completions has the shell know what arguments and flags may be, below a command. Without it, a
// shell offers files.
func (e *Env) completions(c *cobra.Command) {
	noArgs := c.Args != nil && c.Args(c, []string{"x"}) != nil
	switch {
	case c.ValidArgsFunction != nil:
	case c.Name() == "login" || c.Name() == "logout":
		c.ValidArgsFunction = completeProviders
	case noArgs:
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	complete := func(f *pflag.Flag) {
		if _, has := c.GetFlagCompletionFunc(f.Name); has {
			return
		}
		switch value, _ := pflag.UnquoteUsage(f); value {
		case "directory":
			_ = c.RegisterFlagCompletionFunc(f.Name, completeDirs)
		case "model":
			_ = c.RegisterFlagCompletionFunc(f.Name, e.completeModels)
		case "place":
			_ = c.RegisterFlagCompletionFunc(f.Name, completePlaces)
		case "id":
			_ = c.RegisterFlagCompletionFunc(f.Name, e.CompleteSessions)
		case "address", "age", "duration", "name", "package", "function":
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	}
	c.LocalFlags().VisitAll(complete)
	for _, sub := range c.Commands() {
		e.completions(sub)
	}
}

func completeDirs(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeProviders returns those that have keys.
func completeProviders(
	_ *cobra.Command, args []string, word string,
) (all []cobra.Completion, d cobra.ShellCompDirective) {
	for provider, variable := range keyVariables() {
		if len(args) == 0 && strings.HasPrefix(provider, word) {
			all = append(all, cobra.CompletionWithDesc(provider, variable))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func (e *Env) completeModels(
	*cobra.Command, []string, string,
) (all []cobra.Completion, d cobra.ShellCompDirective) {
	if e.demo != nil {
		all = append(all, "offline")
	}
	for provider := range keyVariables() {
		all = append(all, provider+":"+defaultModels[provider])
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completePlaces returns where keys of sessions can be, besides files.
func completePlaces(
	_ *cobra.Command, _ []string, word string,
) (all []cobra.Completion, d cobra.ShellCompDirective) {
	for _, place := range []string{inKeyring, inEnv} {
		if strings.HasPrefix(place, word) {
			all = append(all, place)
		}
	}
	return all, cobra.ShellCompDirectiveDefault
}

// CompleteSessions returns the ids of sessions that are kept, the one that was changed last first.
// Commands use it to complete arguments and flags: see [cobra.Command.ValidArgsFunction]. A store
// that cannot be read has none.
func (e *Env) CompleteSessions(
	_ *cobra.Command, args []string, word string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completing)
	defer cancel()
	var all []cobra.Completion
	for _, info := range e.someSessions(ctx) {
		if strings.HasPrefix(info.ID, word) && !slices.Contains(args, info.ID) {
			all = append(all, cobra.CompletionWithDesc(info.ID, show.Line(info.Title)))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// someSessions returns the sessions that were changed last.
func (e *Env) someSessions(ctx context.Context) []sessions.Info {
	store := sessions.Store(nil)
	if e.openStore != nil {
		store, _ = e.Store(ctx)
	} else if place, err := e.placeOf(*e.storeAt); err == nil {
		if dir := place.Dir(); dir != "" {
			_, err := os.Stat(filepath.Join(dir, "sessions.db"))
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it would be made
			}
		}
		opened, done, err := e.openPlace(ctx, place)
		if err != nil {
			return nil
		}
		defer func() { _ = done() }()
		store = opened
	}
	if store == nil {
		return nil
	}
	page, _ := store.List(ctx, sessions.Query{Conversations: true, Limit: sessions.MaxLimit})
	return page.Sessions
}

// twoDashes makes two dashes of one before the names of flags in the words before the one that is
// completed. Completions know flags with two.
func twoDashes(root *cobra.Command, words []string) {
	known := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		learn := func(f *pflag.Flag) { known[f.Name] = true }
		c.LocalFlags().VisitAll(learn)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for i := 1; i < len(words)-1 && words[i] != "--"; i++ {
		name, _, _ := strings.Cut(strings.TrimPrefix(words[i], "-"), "=")
		if strings.HasPrefix(words[i], "-") && len(name) > 1 && known[name] {
			words[i] = "-" + words[i]
		}
	}
}
