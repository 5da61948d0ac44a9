// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/links"
	"github.com/ponte-go/ponte/toolset/command"
)

// maxFollowed bounds the names whose links are followed.
const maxFollowed = 1000

// behindLinks returns the effects on what links lead to from the files of a command: those of its
// effects, and those that words of unknown effects name. If there are too many, it may write any.
func (c *call) behindLinks(ctx context.Context, effects []model.Effect) (behind []model.Effect) {
	seen := map[string]string{}
	follow := func(name string) string {
		real, ok := seen[name]
		if !ok && len(seen) < maxFollowed {
			real = c.follow(ctx, name)
			seen[name] = real
		}
		if real == name {
			return ""
		}
		return real
	}
	for _, e := range effects {
		if e.Path != "" {
			real := follow(e.Path)
			if strings.HasSuffix(e.Path, "/") && real != "" && !strings.HasSuffix(real, "/") {
				real += "/"
			}
			if real != "" && real != e.Path {
				behind = append(behind, model.Effect{Kind: e.Kind, Path: real})
			}
			continue
		}
		if e.Kind != model.EffectUnknown {
			continue
		}
		var words []string
		for _, name := range command.Named(e) {
			if real := follow(name); real != "" {
				words = append(words, real)
			}
		}
		if len(words) > 0 {
			behind = append(behind, model.Effect{Kind: e.Kind, Argv: words, Dir: e.Dir})
		}
	}
	if len(seen) >= maxFollowed {
		behind = append(behind, model.Effect{Kind: model.EffectRead, Path: "/"},
			model.Effect{Kind: model.EffectWrite, Path: "/"})
	}
	return behind
}

// basisOf identifies what links lead to, empty if there are none.
func basisOf(behind []model.Effect) string {
	if len(behind) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, e := range behind {
		fmt.Fprintf(sum, "%q %q %q\n", e.Kind, e.Path, e.Argv)
	}
	return fmt.Sprintf(" through %x", sum.Sum(nil)[:16])
}

// follow returns the name of the file that links lead to, in the workspace or, if this machine has
// its files, outside of it.
func (c *call) follow(ctx context.Context, name string) string {
	w, ok := c.ws.(Follower)
	if !ok {
		return name
	}
	parents := slices.Contains(strings.Split(filepath.ToSlash(name), "/"), "..")
	if at, err := LocateIn(c.ws, name); err == nil && !parents {
		if real, err := w.Follow(ctx, at.Path); err == nil {
			return real
		}
	}
	if !filepath.IsAbs(name) {
		return name
	}
	real := links.Resolve(name)
	if at, err := LocateIn(c.ws, real); err == nil {
		return at.Path
	}
	return real
}
