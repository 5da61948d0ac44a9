// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/config"
)

// thinker is a model that can list its levels of thinking, such as the models of the adapters.
type thinker interface{ ThinkingLevels() []string }

// models returns what users can choose from: the chosen model, the models of the configuration, and
// one for each provider with a key. name is the name of the chosen model, empty while it is being
// looked for.
func (c chooser) models(ctx context.Context, chosen model.Model, name string, u *config.User) ([]host.Model, error) {
	if name == "" {
		name, _ = c.keyed()
	}
	first := host.Model{ID: name, Title: name, Model: chosen}
	if name == "" {
		first.ID, first.Title, first.Description = "default", "Default", "The model of a stored key, else a local Ollama."
	}
	all := []host.Model{first}
	add := func(name string, m model.Model) {
		if !slices.ContainsFunc(all, func(other host.Model) bool { return other.ID == name }) {
			all = append(all, host.Model{ID: name, Title: name, Model: m})
		}
	}
	var errs []error
	for i, name := range u.Models {
		found, err := c.named(ctx, name)
		if err != nil {
			errs = append(errs, u.Wrong(fmt.Sprintf("models[%d]", i), withoutFlag(err)))
			continue
		}
		add(name, found.Model)
	}
	stored := c.stored.Names()
	for provider, variable := range keyVariables() {
		if c.env(variable) == "" && !slices.Contains(stored, variable) || defaultModels[provider] == "" {
			continue
		}
		name := provider + ":" + defaultModels[provider]
		if m, err := c.open(ctx, name); err == nil {
			add(name, m.Model)
		}
	}
	if name == "" && c.demo != nil {
		all[0].Description = "The model of a stored key, else a local Ollama, else the offline demo model."
		add("offline", c.offline().Model)
	}
	for i := range all {
		all[i].Thinking = thinkingOf(all[i].Model, u.Thinking)
		if all[i].ID == "offline" {
			all[i].Title, all[i].Description = "Offline", "A demo model: a few rules and no intelligence."
		}
	}
	if levels := all[0].Thinking; u.Thinking != "" && len(levels) > 0 && !slices.Contains(levels, u.Thinking) {
		errs = append(errs, u.Wrong("thinking", fmt.Errorf(
			"%s has no level %q; it has %s", all[0].ID, u.Thinking, strings.Join(levels[1:], ", "),
		)))
	}
	return all, errors.Join(errs...)
}

// thinkingOf returns the levels of thinking that a model has, the default first. The list has no
// elements if there are none.
func thinkingOf(m model.Model, preferred string) []string {
	t, ok := m.(thinker)
	if !ok {
		return []string{}
	}
	levels := t.ThinkingLevels()
	if len(levels) == 0 {
		return []string{}
	}
	if i := slices.Index(levels, preferred); i >= 0 {
		levels = slices.Insert(slices.Delete(slices.Clone(levels), i, i+1), 0, preferred)
		return append(levels, host.ThinkingDefault)
	}
	return append([]string{host.ThinkingDefault}, levels...)
}

// withoutFlag returns an error of a model's name without the flag that it begins with.
func withoutFlag(err error) error {
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "-model "), "-model: "))
}
