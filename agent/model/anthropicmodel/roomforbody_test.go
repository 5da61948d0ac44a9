// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

// Room for the messages of a request is made once: for what is around them, for each of their blocks, and for texts with
// an eighth more for escapes.
func TestRoomForMessages(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	m := newModel(t, "", uncached)
	for name, test := range map[string]struct {
		parts []model.Part
		want  int
	}{
		"a text":          {[]model.Part{model.User(text(80))}, 1024 + 128 + 90},
		"a longer text":   {[]model.Part{model.User(text(8000))}, 1024 + 128 + 9000},
		"texts":           {[]model.Part{model.User(text(80)), model.User(text(160))}, 1024 + 2*128 + 90 + 180},
		"a result":        {[]model.Part{model.ToolReturn("c", "f", text(800))}, 1024 + 128 + 900},
		"a result, again": {[]model.Part{model.ToolReturn("c", "f", text(80)), model.User(text(8))}, 1024 + 2*128 + 90 + 9},
	} {
		size, err := anthropicmodel.SizeOf(m, &model.Request{Messages: []*model.Message{request(test.parts...)}})
		require.NoError(t, err)
		require.Equal(t, test.want, size, name)
	}
}
