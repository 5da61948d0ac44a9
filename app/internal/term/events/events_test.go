// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/events"
	"github.com/ponte-go/ponte/toolset"
)

func TestEventsAreALineEach(t *testing.T) {
	var out bytes.Buffer
	w := events.New(&out)
	for want, write := range map[string]func(){
		`{"type":"note","text":"so"}`:                              func() { w.Note("so") },
		`{"type":"error","text":"bad"}`:                            func() { w.Fail("bad") },
		`{"type":"turn","text":"broken","stop_reason":"end_turn"}`: func() { w.Ended("end_turn", "broken") },
		`{"type":"turn"}`:                                          func() { w.Ended("", "") },
		`{"type":"exit","text":"why","code":3}`:                    func() { w.Failed(3, "why") },
		``:                                                         w.EndTurn,
		`{"type":"question","title":"Run","preview":"Run","options":[{"kind":"allow_once","name":"Yes","optionId":"y"}],"answer":"","text":"nobody"}`: func() {
			w.Asked(&acpclient.PermissionRequest{
				Approval: toolset.Approval{Title: "Run"}, Options: []acp.PermissionOption{{OptionID: "y", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce}},
			}, "", "nobody")
		},
	} {
		out.Reset()
		write()
		if want == "" {
			require.Empty(t, out.String())
			continue
		}
		require.JSONEq(t, want, out.String())
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")))
	}

	out.Reset()
	e := &view.Entity{ID: "m", Kind: view.Message}
	w.Update(&view.Update{Changes: []view.Change{{Op: view.Upsert, ID: "m", Entity: e}, {Op: view.Append, ID: "m", Text: "more", Entity: e}}})
	require.Equal(t, 2, bytes.Count(out.Bytes(), []byte("\n")))
	lines := bytes.Split(out.Bytes(), []byte("\n"))
	require.Contains(t, string(lines[0]), `"entity":{`)
	require.NotContains(t, string(lines[1]), `"entity"`)
	require.Contains(t, string(lines[1]), `"text":"more"`)
}
