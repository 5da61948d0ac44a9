// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// The ids of the settings for [Config].Modes, Models and Thinking.
const (
	SettingMode     = "mode"
	SettingModel    = "model"
	SettingThinking = "thinking"
)

// ThinkingDefault is the level of thinking that leaves it to the model's provider how much there
// is.
const ThinkingDefault = "default"

// Setting is something of the program's own that a user can set for a session. Its Value is the
// default; for a switch "true" or "false".
type Setting struct {
	view.Setting
	// Options returns options for the runs of a session that has the value, if not nil.
	Options func(value string) []agent.RunOption
}

// Errors of [Session.Set].
var (
	// ErrNoSetting means that the setting does not exist.
	ErrNoSetting = errors.New("no such setting")
	// ErrSettingValue means that the setting has no such value.
	ErrSettingValue = errors.New("the setting has no such value")
)

// makeSettings returns all settings, with their defaults.
func makeSettings(modes []Mode, models []Model, thinking []string, own []Setting) []Setting {
	var all []Setting
	add := func(id, title, category string, choices []view.Choice) {
		if len(choices) > 0 {
			all = append(all, Setting{Setting: view.Setting{
				ID: id, Title: title, Category: category, Value: choices[0].ID, Choices: choices,
			}})
		}
	}
	var choices []view.Choice
	for _, m := range modes {
		choices = append(choices, view.Choice{ID: m.ID, Title: m.Title, Description: m.Description})
	}
	add(SettingMode, "Mode", "mode", choices)
	choices = nil
	for _, m := range models {
		choices = append(choices, view.Choice{ID: m.ID, Title: m.Title, Description: m.Description})
	}
	add(SettingModel, "Model", "model", choices)
	for i := range models {
		if len(thinking) == 0 { // the models have their own: see Session.setting
			thinking = models[i].Thinking
		}
	}
	add(SettingThinking, "Thinking", "thought_level", levels(thinking))
	return append(all, own...)
}

func levels(thinking []string) (choices []view.Choice) {
	for _, level := range thinking {
		choices = append(choices, view.Choice{ID: level, Title: level})
	}
	return choices
}

// checkThinking reports models whose levels of thinking cannot be chosen.
func checkThinking(models []Model) error {
	var errs []error
	for i := range models {
		for n, level := range models[i].Thinking {
			if level == "" || slices.Contains(models[i].Thinking[:n], level) {
				errs = append(errs, fmt.Errorf("host: config: the model %q: its levels of thinking must be unique and not empty", models[i].ID))
			}
		}
	}
	return errors.Join(errs...)
}

// checkSettings reports settings that cannot be set.
func checkSettings(all []Setting) error {
	var errs []error
	seen := map[string]bool{}
	for i := range all {
		s := &all[i]
		switch {
		case s.ID == "" || seen[s.ID]:
			errs = append(errs, fmt.Errorf("host: config: the setting %q: ids must be unique and not empty", s.ID))
		case s.Switch && len(s.Choices) > 0:
			errs = append(errs, fmt.Errorf("host: config: the setting %q: a switch has no choices", s.ID))
		case !s.has(s.Value):
			errs = append(errs, fmt.Errorf(
				"host: config: the setting %q: its value %q is not one of its choices", s.ID,
				s.Value,
			))
		}
		for n, c := range s.Choices {
			if c.ID == "" || slices.ContainsFunc(s.Choices[:n], func(other view.Choice) bool { return other.ID == c.ID }) {
				errs = append(errs, fmt.Errorf("host: config: the setting %q: the ids of its choices must be unique and not empty", s.ID))
			}
		}
		seen[s.ID] = true
	}
	return errors.Join(errs...)
}

// has reports whether the setting can have a value.
func (s *Setting) has(value string) bool {
	if s.Switch {
		return value == "true" || value == "false"
	}
	return slices.ContainsFunc(s.Choices, func(c view.Choice) bool { return c.ID == value })
}

func settingValue(id string) string { return "setting:" + id }

// setting returns a setting as the session has it: the model decides which levels of thinking there
// are. It is nil if there is none.
func (s *Session) setting(id string) *Setting {
	i := slices.IndexFunc(s.host.settings, func(one Setting) bool { return one.ID == id })
	if i < 0 {
		return nil
	}
	one := &s.host.settings[i]
	if id != SettingThinking {
		return one
	}
	thinking := s.host.thinking
	if m := s.chosen(); m != nil && m.Thinking != nil {
		thinking = m.Thinking
	}
	if len(thinking) == 0 {
		return nil
	}
	own := *one
	own.Choices, own.Value = levels(thinking), thinking[0]
	return &own
}

// Setting returns the value of a setting, or the empty string if there is none. A value that does
// not exist any more counts as the default.
func (s *Session) Setting(id string) string {
	one := s.setting(id)
	if one == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var value string
	if json.Unmarshal(s.info.Values[settingValue(id)], &value) == nil && one.has(value) {
		return value
	}
	return one.Value
}

// Settings returns all settings, with the values that the session has.
func (s *Session) Settings() []view.Setting {
	all := make([]view.Setting, 0, len(s.host.settings))
	for i := range s.host.settings {
		if one := s.setting(s.host.settings[i].ID); one != nil {
			now := one.Setting
			now.Value = s.Setting(now.ID)
			all = append(all, now)
		}
	}
	return all
}

// Set sets a setting of the session, and returns all of them. The value is kept with the session.
// It holds for the next turn; a mode holds at once for tools and questions.
func (s *Session) Set(ctx context.Context, id, value string) ([]view.Setting, error) {
	one := s.setting(id)
	switch {
	case one == nil:
		return nil, fmt.Errorf("host: set %q: %w", id, ErrNoSetting)
	case !one.has(value):
		return nil, fmt.Errorf("host: set %q to %q: %w", id, value, ErrSettingValue)
	}
	c, done, err := s.use(ctx, false)
	if errors.Is(err, session.ErrHeld) {
		return s.sendSetting(ctx, id, value)
	}
	if err != nil {
		return nil, err
	}
	defer done()
	if s.Setting(id) != value {
		data, err := json.Marshal(value)
		if err == nil {
			err = s.updateHeld(ctx, c.w, session.Change{Values: map[string]json.RawMessage{settingValue(id): data}})
		}
		if err != nil {
			return nil, err
		}
		s.announce(ctx, c, s.settingsEntity())
	}
	return s.Settings(), nil
}

func (s *Session) settingsEntity() *view.Entity {
	return &view.Entity{ID: transcript.OptionsID, Kind: view.Options, Settings: s.Settings()}
}

// announce shows an entity that belongs to the session as a whole.
func (s *Session) announce(ctx context.Context, c *conversation, e *view.Entity) {
	c.Show(e)
	s.tellListeners(ctx, e)
}

func (s *Session) tellListeners(ctx context.Context, e *view.Entity) {
	s.mu.Lock()
	all := slices.Clone(s.listeners)
	s.mu.Unlock()
	for _, l := range all {
		l.f(ctx, e)
	}
}
