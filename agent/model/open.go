// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// ErrUnknownProvider means that a model string names a provider that is not registered in this
// program.
var ErrUnknownProvider = errors.New("unknown provider")

// Driver opens the models of one provider. Provider packages register their drivers when imported.
type Driver struct {
	Opener
	// Env lists the environment variables that the Opener reads, starting with the key's.
	Env []string
}

// Opener opens models by their names. It is an interface because the linker drops methods that are
// never called: a program that never calls [Open] does not contain what only the drivers of its
// providers need. A function would stay.
type Opener interface {
	// OpenModel returns the model with the given name, which is not empty. It makes no request to
	// the provider. If the key is missing, the error wraps [ErrAuth] and names the variable to set.
	// No error contains the key. The Getenv option is set. OpenModel must be safe for concurrent
	// use.
	OpenModel(ctx context.Context, name string, o OpenOptions) (Model, error)
}

var (
	driversMu sync.RWMutex
	drivers   = map[string][]Driver{}
)

// Register makes a provider available to [Open]. The name must be in lower case and contain no
// colon. Register is meant to be called in init functions. If a name is registered twice, or with a
// driver that cannot open models, every Open of it fails, because Register cannot report errors.
func Register(provider string, d Driver) {
	d.Env = slices.Clone(d.Env)
	driversMu.Lock()
	defer driversMu.Unlock()
	drivers[provider] = append(drivers[provider], d)
}

// Providers iterates over the registered providers, sorted by name.
func Providers() iter.Seq2[string, Driver] {
	return func(yield func(string, Driver) bool) {
		for _, name := range registered() {
			driversMu.RLock()
			d := drivers[name][0]
			driversMu.RUnlock()
			d.Env = slices.Clone(d.Env)
			if !yield(name, d) {
				return
			}
		}
	}
}

// registered returns the names of the registered providers, sorted.
func registered() []string {
	driversMu.RLock()
	defer driversMu.RUnlock()
	return slices.Sorted(maps.Keys(drivers))
}

// Open returns the model named by a string of the form "provider:name", such as "openai:gpt-5-mini"
// or "ollama:qwen3:8b". The text after the first colon is the provider's own name for the model.
// White space around the string is ignored. The provider's package must be imported, for example
// for its side effect only:
//
//	import _ "github.com/ponte-go/ponte/agent/model/openaimodel"
//
// Keys and endpoints are taken from the environment. Use [OpenWith] to set them. Open makes no
// request, so a wrong name or key is only detected by the first request. If the string is malformed
// or the provider is not registered ([ErrUnknownProvider]), the error suggests a string or a
// package to import. If a key is missing ([ErrAuth]), the error names the variable to set. Open is
// safe for concurrent use, and so is the model.
func Open(ctx context.Context, ref string) (Model, error) {
	return OpenWith(ctx, ref, OpenOptions{})
}

// OpenWith is like [Open], with options.
func OpenWith(ctx context.Context, ref string, o OpenOptions) (Model, error) {
	ref = strings.TrimSpace(ref)
	provider, name, _ := strings.Cut(ref, ":")
	driversMu.RLock()
	found := drivers[provider]
	driversMu.RUnlock()
	switch {
	case ref == "":
		return nil, errors.New("model: no model given; use provider:name, such as openai:gpt-5-mini")
	case len(found) == 0:
		return nil, unknownProvider(ref, provider, name)
	case name == "":
		return nil, fmt.Errorf("model: %q names a provider but no model; use %s:name", ref, provider)
	case len(found) > 1:
		return nil, fmt.Errorf("model: %d packages of this program register the provider %q; import only one of them", len(found), provider)
	case found[0].Opener == nil:
		return nil, fmt.Errorf("model: provider %q was registered with a driver without an Opener", provider)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	m, err := found[0].OpenModel(ctx, name, o)
	switch {
	case err != nil:
		return nil, fmt.Errorf("model: opening %q: %w", ref, err)
	case m == nil:
		return nil, fmt.Errorf("model: opening %q: the driver returned no model", ref)
	}
	return m, nil
}
