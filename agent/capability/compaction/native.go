// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// nativeAt returns the size at which the provider compacts the conversation of a run, in tokens, or
// 0 if it does not.
func (c *compactor[D]) nativeAt(run *toolset.RunContext[D]) int {
	if !c.options.Native || run.Model == nil || !run.Model.NativeCompaction {
		return 0
	}
	at := c.bound(run) * summariseAt / 100
	if at < MinNative {
		return 0
	}
	return at
}

// withNative returns a request that lets the provider compact the conversation, unless it says
// already at which size.
func withNative(req *model.Request, at int) *model.Request {
	var settings model.Settings
	if req.Settings != nil {
		settings = *req.Settings
	}
	if settings.CompactAt != 0 {
		return req
	}
	settings.CompactAt = at
	changed := *req
	changed.Settings = &settings
	return &changed
}

// measured returns a history for a model that gets all of it. Responses behind a provider's summary
// report what that provider has read, which is not what precedes the summary: they get the size of
// all of it.
func (c *compactor[D]) measured(messages []*model.Message) []*model.Message {
	if !slices.ContainsFunc(messages, hasSummary) {
		return messages
	}
	estimate := c.options.Estimate
	if estimate == nil {
		estimate = history.Estimate
	}
	var all, replaced int64 // the tokens so far, and those before the last summary
	var by string
	out := messages
	for i, m := range messages {
		read := m.Usage.InputTokens
		switch {
		case m.Kind != model.KindResponse:
		case hasSummary(m): // the usage has what the summary cost
			replaced, by = all, m.Provider
			read = max(read, all)
		default:
			read += replaced
		}
		reported, known := m.Usage.InputTokens, m.Metadata[history.MetaContext] != ""
		if reported > 0 && read > reported && m.Provider == by && !known {
			if &out[0] == &messages[0] {
				out = slices.Clone(messages)
			}
			clone := *m
			clone.Metadata = maps.Clone(m.Metadata)
			if clone.Metadata == nil {
				clone.Metadata = map[string]string{}
			}
			clone.Metadata[history.MetaContext] = strconv.FormatInt(read, 10)
			out[i] = &clone
		}
		all += int64(estimate(m))
	}
	return out
}

func hasSummary(m *model.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p model.Part) bool {
		if p.Kind != model.PartOpaque || !bytes.Contains(p.Data, []byte(`"compaction`)) {
			return false
		}
		_, ok := model.NativeCompaction(&p)
		return ok
	})
}
