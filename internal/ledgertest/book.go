// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Book is a window in which each request reserves [MaxTokens]. It knows what it has counted.
type Book struct {
	bound int64
	once  sync.Once
	made  *agent.Policy

	mu sync.Mutex
	// used is the known usage of all requests. held is reserved by requests that are under
	// way or of unknown usage.
	used, held int64
	// refused counts requests that did not fit, unknown requests of unknown usage.
	refused, unknown int
}

// ErrBook means that a request did not fit into the window.
var ErrBook = errors.New("the window of the tree is used up")

// policy returns the same policy each time.
func (b *Book) policy() *agent.Policy {
	b.once.Do(func() {
		b.made = agent.NewPolicy(agent.PolicyConfig[any]{
			Name: "book", Prices: prices{}, Windows: func(*toolset.RunContext[any]) []toolset.Budget { return []toolset.Budget{b} },
		})
	})
	return b.made
}

// Key implements [toolset.Budget].
func (b *Book) Key() any { return b }

// Reserve implements [toolset.Budget].
func (b *Book) Reserve(
	context.Context, model.Info, *model.Request,
) (settle func(toolset.Spent) (known bool), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bound > 0 && b.used+b.held+MaxTokens > b.bound {
		b.refused++
		return nil, ErrBook
	}
	b.held += MaxTokens
	return b.settle, nil
}

func (b *Book) settle(s toolset.Spent) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case s.Response != nil:
		b.held -= MaxTokens
		b.used += s.Response.Usage.TotalTokens()
	case s.Unknown:
		b.unknown++
	default:
		b.held -= MaxTokens
	}
	return true // the prices of the run say what is unknown
}

// Used returns the tokens that the window has counted, those that are reserved, and how many
// requests it has refused. Once all runs have ended, reservations belong to requests of unknown
// usage.
func (b *Book) Used() (used, held int64, unknown, refused int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.held, b.unknown, b.refused
}
