// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"

	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Choice is an answer to a question about a call, for surfaces that offer a list.
type Choice struct {
	// ID identifies the choice within its question.
	ID string
	// Class is "allow_once", "allow_always", "reject_once" or "reject_always".
	Class string
	// Title names the choice to people.
	Title string
	// Decision is the decision of the choice.
	Decision toolset.Decision
}

// The classes of choices. The first choice of a class has it as its id.
const (
	classAllowOnce    = "allow_once"
	classAllowAlways  = "allow_always"
	classRejectOnce   = "reject_once"
	classRejectAlways = "reject_always"
)

// Choices returns the choices about a call. "Always" is offered if remembers is set and rules may
// allow the call, and "always in this project" if [toolset.ApprovalRequest].Lasting is set too.
func Choices(r *toolset.ApprovalRequest, remembers bool) []Choice {
	choice := func(id, class, title string, d toolset.Decision) Choice {
		d.Verdict = toolset.VerdictAllow
		if class == classRejectOnce || class == classRejectAlways {
			d.Verdict = toolset.VerdictDeny
		}
		return Choice{id, class, title, d}
	}
	once := choice(classAllowOnce, classAllowOnce, "Allow once", toolset.Decision{})
	reject := choice(classRejectOnce, classRejectOnce, "Reject", toolset.Decision{})
	if !remembers || r.Once || r.Approval.Once {
		return []Choice{once, reject}
	}
	always := toolset.Decision{Always: true}
	scope := ScopeTitle(r.Tool, &r.Approval)
	all := []Choice{once, choice(classAllowAlways, classAllowAlways,
		"Always allow "+scope+" in this session", always)}
	where := "session"
	if always.Lasting = r.Lasting; always.Lasting {
		where = "project"
		all = append(all, choice("allow_always_project", classAllowAlways,
			"Always allow "+scope+" in this project", always))
	}
	for i, w := range r.Approval.Wider {
		always.Scope = w.Scope
		all = append(all, choice(fmt.Sprintf("allow_always_wider_%d", i+1), classAllowAlways,
			"Always allow "+show.Line(w.Title)+" in this "+where, always))
	}
	rejected := scope
	if len(r.Approval.Parts) > 0 { // the whole is denied, or each part allowed
		rejected = "exactly this"
	}
	return append(all, reject, choice(classRejectAlways, classRejectAlways,
		"Always reject "+rejected+" in this session", toolset.Decision{Always: true}))
}

// ScopeTitle names what "always" covers for a call to people.
func ScopeTitle(tool string, a *toolset.Approval) string {
	switch {
	case a.ScopeTitle != "":
		return show.Line(a.ScopeTitle)
	case a.Scope != "":
		return show.Line(tool + " for " + a.Scope)
	}
	return show.Line("every call of " + tool)
}
