// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestFloodEndsAStream(t *testing.T) {
	newModel := func(f transport) model.Model {
		return inProcess(t, f, func(c *geminimodel.Config) { c.Retry = model.RetryPolicy{Base: time.Microsecond} })
	}
	adaptertest.CheckFloods(t, newModel, events(chunk("")))
}

func TestKeepAlivesHaveABound(t *testing.T) {
	newModel := func(f transport) model.Model { return inProcess(t, f, once) }
	for _, keepAlive := range adaptertest.KeepAlives {
		adaptertest.CheckKeepAlives(t, newModel, keepAlive, events(chunk("", `{"text":"a"}`)), events(chunk("STOP")))
	}
}
