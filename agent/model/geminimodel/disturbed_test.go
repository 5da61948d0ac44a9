// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestDisturbedStreamIsTheSameAnswer(t *testing.T) {
	stream := strings.ReplaceAll(events(chunk("", `{"text":"Let me think.","thought":true}`), chunk("", `{"text":"Hello, "}`), chunk("", `{"text":"wörld"}`),
		chunk("STOP", `{"functionCall":{"id":"a","name":"time","args":{"at":1}}}`)), "\r", "")
	open := func(t testing.TB, url string) model.Model { return newModel(t, url) }
	adaptertest.CheckDisturbed(t, open, stream, map[string]func(string) string{
		"chunks without candidates": func(s string) string { return events(`{"responseId":"r1"}`, `{}`) + s },
		"named chunks":              func(s string) string { return strings.ReplaceAll(s, "data: {", "event: chunk\ndata: {") },
		"several lines of data":     func(s string) string { return strings.ReplaceAll(s, `,"modelVersion"`, ",\ndata: \"modelVersion\"") },
	}, nil)
}
