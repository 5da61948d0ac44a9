// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import "github.com/ponte-go/ponte/internal/adapter"

// ThinkingLevels returns the levels of model.Settings.Thinking that the model's profile has, from
// none to much.
func (m *Model) ThinkingLevels() []string { return adapter.Levels(m.profile.Thinking) }
