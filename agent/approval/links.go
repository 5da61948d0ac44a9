// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/links"
	"github.com/ponte-go/ponte/toolset"
)

// ThroughLinks has a layer decide about the files of this machine that a call changes and about those that symbolic links lead to: what is
// denied or asked about under one name is so under the other, and what is allowed must be so under both. Without it, a rule about a file
// does not hold for a link to it. Roots are the absolute directories that the layer's paths are relative to; links on the way to them do
// not count. Hard links are names like any other.
//
// The links are followed when the layer decides. Nothing keeps another program from changing them before the call runs.
func ThroughLinks(l Layer, roots ...string) Layer {
	decide := l.Decide
	if decide == nil {
		return l
	}
	l.Decide = func(ctx context.Context, r *toolset.ApprovalRequest) (Ruling, error) {
		named, err := decide(ctx, r)
		real, linked := behindLinks(r, roots)
		if err != nil || !linked {
			return named, err
		}
		there, err := decide(ctx, real)
		for _, verdict := range []toolset.Verdict{toolset.VerdictDeny, VerdictAsk, ""} {
			if named.Verdict == verdict {
				return named, err
			} else if there.Verdict == verdict {
				return there, err
			}
		}
		return named, err
	}
	return l
}

// behindLinks returns a request with the files that links lead to, and whether there are links.
func behindLinks(r *toolset.ApprovalRequest, roots []string) (*toolset.ApprovalRequest, bool) {
	real, linked := *r, false
	real.Approval.Preview = slices.Clone(r.Approval.Preview)
	for i := range real.Approval.Preview {
		if d := real.Approval.Preview[i].Diff; d != nil {
			if path := behindLink(d.Path, roots); path != filepath.Clean(d.Path) {
				diff := *d
				diff.Path, linked = path, true
				real.Approval.Preview[i].Diff = &diff
			}
		}
	}
	real.Approval.Effects = slices.Clone(r.Approval.Effects)
	for i := range real.Approval.Effects {
		e := &real.Approval.Effects[i]
		if !filepath.IsAbs(e.Path) || e.Kind != model.EffectRead && e.Kind != model.EffectWrite {
			continue
		}
		if path := behindLink(e.Path, roots); path != filepath.Clean(e.Path) {
			if linked = true; strings.HasSuffix(e.Path, "/") {
				path += "/"
			}
			e.Path = path
		}
	}
	return &real, linked
}

// behindLink returns what links lead to from a path. Links on the way to a root do not count.
func behindLink(name string, roots []string) string {
	path := ResolveLinks(name)
	for _, root := range roots {
		rest, ok := strings.CutPrefix(path, ResolveLinks(root)+string(filepath.Separator))
		if ok {
			return filepath.Join(root, rest)
		}
	}
	return path
}

// ResolveLinks returns the path that symbolic links of this machine lead to from an absolute path.
// What is there need not exist.
func ResolveLinks(path string) string {
	return links.Resolve(path)
}
