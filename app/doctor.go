// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent/model"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/internal/show"
)

// Check is a result of the command doctor.
type Check struct {
	// Name names what was checked, such as "model".
	Name string
	// Found describes what there is, in one line.
	Found string
	// Err is the problem, nil if there is none. Mend tells the user what to do about it.
	Err  error
	Mend string
}

// Checker is implemented by surfaces that add checks to the command doctor.
type Checker interface {
	Check(ctx context.Context, e *Env) []Check
}

// doctorCommand is "doctor".
func (e *Env) doctorCommand() *cobra.Command {
	offline := false
	c := &cobra.Command{
		Use: "doctor", Short: "Find out what is wrong, and how to mend it", GroupID: groupOther, Args: cobra.NoArgs,
		Long: `Checks the configuration, the model and its key, the store of sessions, and what the program's
surfaces need. It says how to mend what is wrong, and fails if something is. It asks the model to
answer one word, unless -no-request is given.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.doctor(cmd.Context(), !offline) },
	}
	c.Flags().BoolVar(&offline, "no-request", false, "send no request to the model")
	return c
}

func (e *Env) doctor(ctx context.Context, ask bool) error {
	e.OnSay(func(string, bool) {})
	defer e.OnSay(nil)
	_, err := e.Host(ctx) // which reads everything
	all := []Check{e.checkConfig()}
	if e.misused != nil {
		return e.misused
	}
	_, runner := errors.AsType[*runnerError](err)
	_, flag := errors.AsType[*ExitError](err) // of the store
	if err != nil && !runner && !flag {
		all = append(all, Check{Name: "agent", Err: err, Mend: "this is a mistake in the program: tell its author"})
	}
	all = append(all, e.checkModel(ctx, ask), e.checkStore(ctx))
	all = append(all, e.checkRunner(err)...)
	for _, s := range e.surfaces {
		if c, ok := s.(Checker); ok {
			all = append(all, c.Check(ctx, e)...)
		}
	}
	for _, check := range e.checks {
		all = append(all, check(ctx, e)...)
	}
	wrong := 0
	for _, c := range all {
		if c.Err == nil {
			fmt.Fprintf(e.Out, "ok     %s: %s\n", show.Line(c.Name), show.Line(c.Found))
			continue
		}
		wrong++
		fmt.Fprintf(e.Out, "wrong  %s: %s\n", show.Line(c.Name), show.Line(strings.Join(
			strings.Fields(c.Err.Error()), " ",
		)))
		if c.Mend != "" {
			fmt.Fprintf(e.Out, "       %s\n", show.Line(c.Mend))
		}
	}
	if wrong > 0 {
		return &ExitError{exitError, nil}
	}
	return nil
}

func (e *Env) checkConfig() Check {
	c := Check{Name: "configuration", Found: e.Config.File}
	if c.Err = e.Problem(); c.Err != nil {
		c.Mend = "mend the file at the place that is named"
	}
	if c.Found == "" {
		c.Found = "there is no file"
		if dir, err := config.UserDir(e.Name); err == nil {
			c.Found = "there is no " + filepath.Join(dir, "config.json")
		}
	}
	return c
}

// answering is how long a model may take to answer a word.
const answering = time.Minute

func (e *Env) checkModel(ctx context.Context, ask bool) Check {
	c := Check{Name: "model"}
	if e.model == nil {
		c.Found = "the agent has its own"
		if e.misused != nil || e.Problem() != nil {
			c.Err, c.Mend = errors.New(
				"not known, because the configuration is wrong",
			), "mend the configuration first"
		}
		return c
	}
	if l := e.Login(); l != nil {
		if c.Err = l.Check(ctx); c.Err != nil {
			c.Mend = fmt.Sprintf("run %q in a terminal", e.Name+" login "+l.Provider())
			return c
		}
	}
	if s, ok := e.model.(*searched); ok {
		select {
		case <-s.found:
			e.model = s.model
		case <-ctx.Done():
			c.Err = context.Cause(ctx)
			return c
		}
	}
	info := e.model.Info()
	c.Found = info.Provider + ":" + info.Name
	if _, none := e.model.(missing); none {
		ask = true
	}
	if !ask {
		c.Found += ", not asked"
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	begin := time.Now()
	_, err := model.Ask(ctx, e.model, &model.Request{
		Messages: []*model.Message{model.UserText("Answer with the word yes.")},
	}, nil)
	if err != nil {
		c.Err = fmt.Errorf("%s: %w", c.Found, err)
		c.Mend = "check the name of the model, the key, and that the provider can be reached from here"
		if errors.Is(err, model.ErrAuth) {
			c.Mend = fmt.Sprintf(
				"run %q in a terminal, or set the key of a provider in the environment",
				e.Name+" login",
			)
		}
		return c
	}
	c.Found += fmt.Sprintf(", answers after %v", time.Since(begin).Round(time.Millisecond))
	return c
}

// checkStore makes a session and removes it.
func (e *Env) checkStore(ctx context.Context) Check {
	c := Check{Name: "store", Found: "sessions are kept in memory, and end with the program"}
	store, err := e.Store(ctx)
	if err == nil && store == nil {
		return c
	}
	if e.place != nil {
		c.Found = e.place.String()
	} else {
		c.Found = "the program's own"
	}
	if ring, wrong := e.Keyring(ctx); ring != nil {
		c.Found += fmt.Sprintf(", encrypted with %v", ring.Keys[0])
	} else if wrong != nil {
		c.Found += ", encrypted"
	}
	if lazy, ok := store.(*lazyStore); ok && err == nil {
		store, err = lazy.open(ctx) // the memory that it falls back to is not meant
	}
	if err == nil {
		var made sessions.Info
		if made, err = store.Create(ctx, sessions.New{Dir: os.TempDir()}); err == nil {
			err = store.Delete(ctx, made.ID)
		}
	}
	if err != nil {
		c.Err = fmt.Errorf("%s: %w", c.Found, err)
		c.Mend = e.mendStore(err)
	}
	return c
}
