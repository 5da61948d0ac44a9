// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/internal/keys"
)

// keyOf returns the environment variable that has the key of a model's provider, "" if it needs
// none.
func keyOf(name string) (provider, variable string) {
	provider, _, _ = strings.Cut(name, ":")
	for p, v := range keyVariables() {
		if p == provider {
			return p, v
		}
	}
	return provider, ""
}

// withKeys returns an environment that also has the stored keys. Variables of the environment take
// precedence.
func withKeys(ctx context.Context, env environment, stored *keys.Keys) environment {
	return func(name string) string {
		if value := env(name); value != "" || stored == nil {
			return value
		}
		for _, variable := range keyVariables() {
			if variable == name {
				key, _ := stored.Get(ctx, name) // a key that cannot be read is missing; Check says more
				return key
			}
		}
		return ""
	}
}

// keyed is a model whose key may come later, by a login. It is opened when it is needed first, and
// again after its provider has refused the key.
type keyed struct {
	program                  string
	name, provider, variable string
	env                      environment
	stored                   *keys.Keys
	info                     model.Info
	levels                   []string // of thinking

	mu     sync.Mutex
	opened model.Model
}

// newKeyed returns the model of a name, which need not have a key. Whatever else is wrong with the
// name is an error.
func newKeyed(ctx context.Context, program, name string, env environment, stored *keys.Keys) (*keyed, error) {
	k := &keyed{program: program, name: name, env: env, stored: stored}
	k.provider, k.variable = keyOf(name)
	m, err := model.OpenWith(ctx, name, model.OpenOptions{Getenv: func(n string) string {
		if value := env(n); value != "" || n != k.variable {
			return value
		}
		return "unknown" // opening makes no request
	}})
	if err != nil {
		return nil, err
	}
	k.info = m.Info()
	if t, ok := m.(thinker); ok {
		k.levels = t.ThinkingLevels()
	}
	return k, nil
}

// ThinkingLevels returns the levels of thinking that the model has.
func (k *keyed) ThinkingLevels() []string { return k.levels }

// Info implements [model.Model].
func (k *keyed) Info() model.Info { return k.info }

// Generate implements [model.Model].
func (k *keyed) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	m, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	msg, err := m.Generate(ctx, req, sink)
	if errors.Is(err, model.ErrAuth) {
		k.forget()
	}
	return msg, err
}

// open returns the model with a key, or an error that wraps [model.ErrAuth] and explains what to
// do.
func (k *keyed) open(ctx context.Context) (model.Model, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opened != nil {
		return k.opened, nil
	}
	m, err := model.OpenWith(ctx, k.name, model.OpenOptions{Getenv: withKeys(ctx, k.env, k.stored)})
	switch {
	case errors.Is(err, model.ErrAuth):
		why := ""
		if _, e := k.stored.Get(ctx, k.variable); e != nil && !errors.Is(e, keys.ErrNone) {
			why = " (" + e.Error() + ")"
		}
		return nil, fmt.Errorf(
			"%w: there is no key for %s: run \"%s login %s\" in a terminal, or set %s%s",
			model.ErrAuth, k.provider, k.program, k.provider, k.variable, why,
		)
	case err != nil:
		return nil, err
	}
	k.opened = m
	return m, nil
}

func (k *keyed) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opened = nil
}

// Login logs the user of a program in and out at the provider of its model.
type Login struct{ model *keyed }

// Login returns what logs the user in, or nil if the model needs no key that can be stored.
func (e *Env) Login() *Login {
	if k, ok := e.model.(*keyed); ok && e.Problem() == nil {
		return &Login{k}
	}
	return nil
}

// Provider returns the name of the model's provider.
func (l *Login) Provider() string { return l.model.provider }

// Check returns an error that wraps [model.ErrAuth] and tells the user what to do, if the key is
// missing. It makes no request.
func (l *Login) Check(ctx context.Context) error {
	_, err := l.model.open(ctx)
	return err
}

// Again is Check with the key that is stored now.
func (l *Login) Again(ctx context.Context) error {
	l.model.forget()
	return l.Check(ctx)
}

// Logout forgets the key that is stored.
func (l *Login) Logout(ctx context.Context) error {
	k := l.model
	if err := k.stored.Remove(ctx, k.variable); err != nil && !errors.Is(err, keys.ErrNone) {
		return err
	}
	k.forget()
	if k.env(k.variable) != "" {
		return fmt.Errorf("the stored key is removed, but %s is set in the environment", k.variable)
	}
	return nil
}
