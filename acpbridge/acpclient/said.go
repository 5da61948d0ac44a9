// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// maxSaid bounds how often an agent may take back what it has said of a call.
const maxSaid = 8

// keep keeps a call as it was said to be, if an update takes a part of that back: its question is
// also about what was shown before.
func (f *folder) keep(before, now *view.Entity) {
	switch {
	case now.Status.Ended():
		delete(f.said, now.ID)
	case takesBack(before, now) && len(f.said[now.ID]) <= maxSaid:
		if f.said == nil {
			f.said = map[string][]view.Entity{}
		}
		f.said[now.ID] = append(f.said[now.ID], *before)
	}
}

// takesBack reports whether a call shows less than before, or claims to be harmless now.
func takesBack(before, now *view.Entity) bool {
	empty := strings.Trim(string(before.Input), " \t\r\n{}[]")
	return !harmless(before.Class) && harmless(now.Class) && before.Class != "" ||
		empty != "" && empty != "null" && !bytes.Equal(before.Input, now.Input) ||
		slices.ContainsFunc(before.Locations, func(l view.Location) bool {
			return !slices.ContainsFunc(now.Locations, func(n view.Location) bool {
				return n.Path == l.Path
			})
		}) ||
		slices.ContainsFunc(before.Content, func(c view.Content) bool {
			shows := func(n view.Content) bool {
				same := n.Kind == c.Kind && n.Ref == c.Ref
				return same && (c.Diff == nil || n.Diff != nil && n.Diff.Path == c.Diff.Path)
			}
			return c.Kind != view.Text && !slices.ContainsFunc(now.Content, shows)
		})
}

func harmless(kind string) bool {
	switch toolset.Kind(kind) {
	case toolset.KindRead, toolset.KindSearch, toolset.KindThink, toolset.KindFetch:
		return true
	}
	return false
}

// alsoSaid adds what was said of a call before to its approval.
func alsoSaid(a *toolset.Approval, said []view.Entity, dir string) {
	for i := range said {
		was := approvalOf(&said[i], dir)
		a.Preview = append(a.Preview, was.Preview...)
		a.Effects = append(a.Effects, was.Effects...)
		a.Once = a.Once || was.Once
		if len(was.Effects) == 0 && !harmless(said[i].Class) {
			a.Effects = append(a.Effects, model.Effect{Kind: model.EffectUnknown})
		}
	}
	if len(said) > maxSaid {
		a.Effects = append(a.Effects, model.Effect{Kind: model.EffectUnknown})
	}
}
