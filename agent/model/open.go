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

// ErrUnknownProvider means that a model string names no provider that is registered in this program.
var ErrUnknownProvider = errors.New("unknown provider")

// Driver opens the models of one provider. Packages of providers register theirs when they are imported.
type Driver struct {
	// Open returns the model that the provider calls name, which is not empty. It makes no request to the provider. A
	// missing key is an error that wraps [ErrAuth] and names the variable to set; no error contains the key. Getenv of
	// the options is set. Open may be called from several goroutines at once.
	Open func(ctx context.Context, name string, o OpenOptions) (Model, error)
	// Env lists the environment variables that Open reads, the one of the key first.
	Env []string
}

var (
	driversMu sync.RWMutex
	drivers   = map[string][]Driver{}
)

// Register makes a provider known to [Open] under a name in lower case without a colon. It is meant for init functions.
// A name that is registered twice, or with a driver that cannot open, makes every Open of it fail, since there is nobody
// whom Register could tell.
func Register(provider string, d Driver) {
	d.Env = slices.Clone(d.Env)
	driversMu.Lock()
	defer driversMu.Unlock()
	drivers[provider] = append(drivers[provider], d)
}

// Providers iterates over the providers that are registered, sorted by name.
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

// Open returns the model that a string names: "provider:name", such as "openai:gpt-5-mini" or "ollama:qwen3:8b". What comes
// after the first colon is the provider's own name of the model, taken as it is; white space around the string is ignored.
// The package of the provider must have been imported, if only for its side effect:
//
//	import _ "github.com/ponte-go/ponte/agent/model/openaimodel"
//
// Keys and endpoints come from the environment, or from options of [OpenWith]. Open makes no request: whether the name and
// the key are good is known at the first one. A string that cannot be understood, or a provider that is not registered
// ([ErrUnknownProvider]), is an error that says what was probably meant, or what to import; a missing key is one that says
// which variable to set ([ErrAuth]). Open may be called from several goroutines at once, and so may the model be used.
func Open(ctx context.Context, ref string) (Model, error) {
	return OpenWith(ctx, ref, OpenOptions{})
}

// OpenWith is [Open] with options.
func OpenWith(ctx context.Context, ref string, o OpenOptions) (Model, error) {
	ref = strings.TrimSpace(ref)
	provider, name, _ := strings.Cut(ref, ":")
	driversMu.RLock()
	found := drivers[provider]
	driversMu.RUnlock()
	switch {
	case ref == "":
		return nil, errors.New("model: no model is named: write provider:name, such as openai:gpt-5-mini")
	case len(found) == 0:
		return nil, unknownProvider(ref, provider, name)
	case name == "":
		return nil, fmt.Errorf("model: %q names a provider but no model: write %s:name", ref, provider)
	case len(found) > 1:
		return nil, fmt.Errorf("model: %d packages of this program have registered the provider %q: import one of them", len(found), provider)
	case found[0].Open == nil:
		return nil, fmt.Errorf("model: the provider %q was registered with a driver that cannot open", provider)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	m, err := found[0].Open(ctx, name, o)
	switch {
	case err != nil:
		return nil, fmt.Errorf("model: opening %q: %w", ref, err)
	case m == nil:
		return nil, fmt.Errorf("model: opening %q: its driver returned no model", ref)
	}
	return m, nil
}
