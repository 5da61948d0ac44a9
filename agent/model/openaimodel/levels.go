// SPDX-License-Identifier: Apache-2.0

package openaimodel

import "github.com/ponte-go/ponte/internal/adapter"

// ThinkingLevels returns the levels of model.Settings.Thinking that the model's profile has, from
// none to much.
func (e *endpoint) ThinkingLevels() []string { return adapter.Levels(e.profile.Thinking) }
