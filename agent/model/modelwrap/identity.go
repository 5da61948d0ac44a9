// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// The wrappers that only decide when a request is sent have the identity of what they wrap.

// Identity implements [model.Identifier].
func (b *Breaker) Identity() string { return model.Identity(b.Model) }

// Identity implements [model.Identifier].
func (c *Cached) Identity() string { return model.Identity(c.inner) }

// Identity implements [model.Identifier].
func (c *Costed) Identity() string { return model.Identity(c.Model) }

func (f *fetcher) Identity() string { return model.Identity(f.Model) }

func (l *limit) Identity() string { return model.Identity(l.Model) }

func (l *rateLimit) Identity() string { return model.Identity(l.Model) }

func (r *retry) Identity() string { return model.Identity(r.Model) }

// Identity joins those of the models. It is not known if a function decides which of them answers.
func (f *fallback) Identity() string {
	var all []string
	for _, m := range f.models {
		id := model.Identity(m)
		if id == "" || f.chooses {
			return ""
		}
		all = append(all, id)
	}
	return strings.Join(all, "; ")
}
