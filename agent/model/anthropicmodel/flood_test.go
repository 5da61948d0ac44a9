// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestFloodEndsAStream(t *testing.T) {
	newModel := func(f transport) model.Model {
		return inProcess(t, f, func(c *anthropicmodel.Config) { c.Retry = model.RetryPolicy{Base: time.Microsecond} })
	}
	adaptertest.CheckFloods(t, newModel, begin())
}

func TestKeepAlivesHaveABound(t *testing.T) {
	newModel := func(f transport) model.Model { return inProcess(t, f, once) }
	for _, keepAlive := range adaptertest.KeepAlives {
		adaptertest.CheckKeepAlives(t, newModel, keepAlive, begin(), strings.TrimPrefix(events(say("ok")...), begin()))
	}
}
