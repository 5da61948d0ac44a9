// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Mode is how a session works: which tools the agent has, what is asked about, and what the agent
// is told. A change holds at once for tools and questions, and with the next turn for instructions.
type Mode struct {
	// ID identifies the mode. Title and Description are for people.
	ID, Title, Description string
	// Instructions are added to the agent's.
	Instructions string
	// Keep reports whether a tool is offered, by its name and kind. Nil offers all.
	Keep func(tool string, kind toolset.Kind) bool
	// Policy decides about calls of a session before the user is asked; nil decides nothing. The
	// session's remembered decisions come before it, and a remembered denial stays.
	Policy func(s *Session, next toolset.Asker) toolset.Asker
}

// ModeAsk is the mode in which every call that needs approval is asked about.
func ModeAsk() Mode {
	return Mode{ID: "ask", Title: "Ask", Description: "Asks before it changes files or runs commands."}
}

// ModeCode is the mode in which files of the session's directory are changed without a question:
// calls whose effects are nothing but that ([approval.Edits]). Everything else is asked about.
func ModeCode() Mode {
	return Mode{
		ID: "code", Title: "Code", Description: "Changes files without asking. Asks before it runs commands.",
		Policy: func(s *Session, next toolset.Asker) toolset.Asker {
			approve := func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
				if !r.Once && !r.Approval.Once && approval.Edits(&r, s.Dirs()...) {
					return toolset.Decision{Verdict: toolset.VerdictAllow, By: "mode code"}, nil
				}
				return next.Approve(ctx, r)
			}
			return toolset.AskerFuncs{OnAnswer: next.Answer, OnApprove: approve}
		},
	}
}

// ModePlan is the mode in which the agent has tools that read only, and makes a plan.
func ModePlan() Mode {
	return Mode{
		ID: "plan", Title: "Plan", Description: "Reads and makes a plan. Changes nothing.",
		Instructions: "You are in plan mode. Do not change anything. Read what you need, then answer with a plan of the changes that you " +
			"would make, and wait for the user to approve it.",
		Keep: func(tool string, kind toolset.Kind) bool {
			switch kind {
			case toolset.KindRead, toolset.KindSearch, toolset.KindThink, toolset.KindFetch:
				return true
			}
			return tool == "ask_user"
		},
	}
}

// Modes returns the modes that are shipped: ask, code and plan.
func Modes() []Mode { return []Mode{ModeAsk(), ModeCode(), ModePlan()} }

// Model is a model that a user can choose.
type Model struct {
	// ID identifies the choice. Title and Description are for people.
	ID, Title, Description string
	// Model answers. Nil is the agent's own.
	Model model.Model
	// Thinking are the model's levels of thinking, which replace [Config].Thinking: the first is
	// the default. Nil uses the levels of the Config. An empty list offers no choice.
	Thinking []string
}

// mode returns the mode of the session, nil if there are none.
func (s *Session) mode() *Mode {
	id := s.Setting(SettingMode)
	if i := slices.IndexFunc(s.host.modes, func(m Mode) bool { return m.ID == id }); i >= 0 {
		return &s.host.modes[i]
	}
	return nil
}

// moded asks by the policy of the mode that the session has when there is something to ask.
func (s *Session) moded(next toolset.Asker) toolset.Asker {
	if len(s.host.modes) == 0 {
		return next
	}
	return toolset.AskerFuncs{OnAnswer: next.Answer, OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		if m := s.mode(); m != nil && m.Policy != nil {
			return m.Policy(s, next).Approve(ctx, r)
		}
		return next.Approve(ctx, r)
	}}
}

// keeps reports whether a tool is offered. It is nil without modes.
func (s *Session) keeps() func(tool string, kind toolset.Kind) bool {
	if len(s.host.modes) == 0 {
		return nil
	}
	return func(tool string, kind toolset.Kind) bool {
		m := s.mode()
		return m == nil || m.Keep == nil || m.Keep(tool, kind)
	}
}

// options are the options of a run that the settings ask for.
func (s *Session) options() []agent.RunOption {
	var all []agent.RunOption
	if m := s.mode(); m != nil && m.Instructions != "" {
		all = append(all, agent.WithInstructions(m.Instructions))
	}
	if m := s.model(); m != nil {
		all = append(all, agent.WithModel(m))
	}
	if level := s.Setting(SettingThinking); level != "" && level != ThinkingDefault {
		all = append(all, agent.WithSettings(model.Settings{Thinking: level}))
	}
	for i := range s.host.settings {
		if own := &s.host.settings[i]; own.Options != nil {
			all = append(all, own.Options(s.Setting(own.ID))...)
		}
	}
	return all
}

// model returns the model that was chosen, nil for the agent's own.
func (s *Session) model() model.Model {
	if m := s.chosen(); m != nil {
		return m.Model
	}
	return nil
}

// chosen returns the choice of a model, nil if there is none.
func (s *Session) chosen() *Model {
	id := s.Setting(SettingModel)
	if i := slices.IndexFunc(s.host.models, func(m Model) bool { return m.ID == id }); i >= 0 {
		return &s.host.models[i]
	}
	return nil
}
