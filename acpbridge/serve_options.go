// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// configOptions returns settings as the protocol has them. A client that takes no switches gets
// them as a choice of on and off.
func (s *session) configOptions(all []view.Setting) []acp.SessionConfigOption {
	switches := false
	if takes := s.info.Capabilities.Session; takes != nil && takes.ConfigOptions != nil {
		switches = takes.ConfigOptions.Boolean != nil
	}
	options := make([]acp.SessionConfigOption, 0, len(all))
	for i := range all {
		one := &all[i]
		o := acp.SessionConfigOption{ID: acp.SessionConfigID(one.ID), Name: one.Title, Category: acp.SessionConfigOptionCategory(one.Category)}
		if o.Name == "" {
			o.Name = one.ID
		}
		if one.Description != "" {
			o.Description = &one.Description
		}
		choices := one.Choices
		if one.Switch && switches {
			o.Boolean = &acp.SessionConfigBoolean{CurrentValue: one.Value == "true"}
			options = append(options, o)
			continue
		}
		if one.Switch {
			choices = []view.Choice{{ID: "true", Title: "On"}, {ID: "false", Title: "Off"}}
		}
		o.Select = &acp.SessionConfigSelect{CurrentValue: acp.SessionConfigValueID(one.Value), Options: selectOptions(choices)}
		options = append(options, o)
	}
	return options
}

func selectOptions(choices []view.Choice) acp.SessionConfigSelectOptions {
	of := func(c *view.Choice) acp.SessionConfigSelectOption {
		o := acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(c.ID), Name: c.Title}
		if o.Name == "" {
			o.Name = c.ID
		}
		if c.Description != "" {
			o.Description = &c.Description
		}
		return o
	}
	var all acp.SessionConfigSelectOptions
	grouped := slices.ContainsFunc(choices, func(c view.Choice) bool { return c.Group != "" })
	for i := range choices {
		c := &choices[i]
		if !grouped {
			all.Ungrouped = append(all.Ungrouped, of(c))
			continue
		}
		n := slices.IndexFunc(all.Grouped, func(g acp.SessionConfigSelectGroup) bool { return g.Name == c.Group })
		if n < 0 {
			n = len(all.Grouped)
			all.Grouped = append(all.Grouped, acp.SessionConfigSelectGroup{Group: acp.SessionConfigGroupID(c.Group), Name: c.Group})
		}
		all.Grouped[n].Options = append(all.Grouped[n].Options, of(c))
	}
	return all
}

// modes returns the mode for clients that do not know options. It is nil without modes.
func modes(all []view.Setting) *acp.SessionModeState {
	i := slices.IndexFunc(all, func(one view.Setting) bool { return one.ID == host.SettingMode })
	if i < 0 {
		return nil
	}
	state := &acp.SessionModeState{CurrentModeID: acp.SessionModeID(all[i].Value)}
	for n := range all[i].Choices {
		c := &all[i].Choices[n]
		m := acp.SessionMode{ID: acp.SessionModeID(c.ID), Name: c.Title}
		if c.Description != "" {
			m.Description = &c.Description
		}
		state.AvailableModes = append(state.AvailableModes, m)
	}
	return state
}

// offered returns what the answer to session/new, session/load and session/resume says of the
// settings.
func (s *session) offered() (*acp.SessionModeState, []acp.SessionConfigOption) {
	all := s.hosted.Settings()
	if len(all) == 0 {
		return nil, nil
	}
	return modes(all), s.configOptions(all)
}

// SetSessionConfigOption implements [acp.Agent].
func (s *server) SetSessionConfigOption(ctx context.Context, p *acp.SetSessionConfigOptionRequest) (*acp.SetSessionConfigOptionResponse, error) {
	if !s.settings {
		return s.UnimplementedAgent.SetSessionConfigOption(ctx, p)
	}
	session := s.session(p.SessionID)
	if session == nil {
		return nil, unknownSession(p.SessionID)
	}
	var value string
	switch {
	case p.Boolean != nil && p.Boolean.Value:
		value = "true"
	case p.Boolean != nil:
		value = "false"
	case p.ValueID != nil:
		value = string(p.ValueID.Value)
	}
	all, err := session.set(ctx, string(p.ConfigID), value)
	if err != nil {
		return nil, s.settingFailure(session, err)
	}
	return &acp.SetSessionConfigOptionResponse{ConfigOptions: session.configOptions(all)}, nil
}

// SetSessionMode implements [acp.Agent], for clients that know no options.
func (s *server) SetSessionMode(ctx context.Context, p *acp.SetSessionModeRequest) (*acp.SetSessionModeResponse, error) {
	if !s.modes {
		return s.UnimplementedAgent.SetSessionMode(ctx, p)
	}
	session := s.session(p.SessionID)
	if session == nil {
		return nil, unknownSession(p.SessionID)
	}
	if _, err := session.set(ctx, host.SettingMode, string(p.ModeID)); err != nil {
		return nil, s.settingFailure(session, err)
	}
	return nil, nil
}

// set sets a setting for the client, which is told of it by the answer alone.
func (s *session) set(ctx context.Context, id, value string) ([]view.Setting, error) {
	s.setting.Lock()
	defer s.setting.Unlock()
	s.asked.Store(true)
	defer s.asked.Store(false)
	return s.hosted.Set(ctx, id, value)
}

func (s *server) settingFailure(session *session, err error) error {
	if errors.Is(err, host.ErrNoSetting) || errors.Is(err, host.ErrSettingValue) {
		return acp.Errorf(acp.CodeInvalidParams, "invalid params: %s", oneLine(err.Error())).WithData(errorData{Kind: KindSession})
	}
	return s.failure("the setting cannot be changed", session.id, err)
}

// announce tells the client what has changed that belongs to the session as a whole.
func (s *session) announce(ctx context.Context, e *view.Entity) {
	send := func(u acp.SessionUpdate) {
		_ = s.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: s.id, Update: u}) // a client that is gone needs to know nothing
	}
	switch {
	case e.Kind == view.Waiting:
		s.tellWaiting(ctx)
	case e.Kind == view.Session && s.stored:
		send(acpview.Info(e))
	case e.Kind == view.Options && !s.asked.Load():
		send(acp.SessionUpdate{ConfigOptionUpdate: &acp.ConfigOptionUpdate{ConfigOptions: s.configOptions(e.Settings)}})
		if m := modes(e.Settings); m != nil {
			send(acp.SessionUpdate{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: m.CurrentModeID}})
		}
	}
}
