// SPDX-License-Identifier: Apache-2.0

package compaction

import (
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
