// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// halfway says half a sentence, and fails unless the prompt is "go on".
func halfway() model.Model {
	return model.Func(model.Info{Name: "half"}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		if _, prompt := returns(req); prompt == "go on" {
			return model.Response(model.Text("Whole.")), nil
		}
		if err := sink(model.Delta{Kind: model.PartText, Text: "Half a"}); err != nil {
			return nil, err
		}
		return nil, errors.New("the provider is away")
	})
}

// TestPagesAreToldOfHalfAnswers looks at an answer that has failed while it is written and when it is loaded, by both protocols for pages, and goes
// on.
func TestPagesAreToldOfHalfAnswers(t *testing.T) {
	ui := uiServe(t, halfway(), webbridge.UIStreamOptions{})
	c := ui.chat("one")
	told := find(c.say("say it"), "data-ended")
	require.Equal(t, "failed", told["data"].(map[string]any)["status"])
	require.Equal(t, view.Failed.Ending(), told["data"].(map[string]any)["title"])
	require.Contains(t, fmt.Sprint(c.list()[1]), "data-ended")
	c.messages = c.list()
	require.Nil(t, find(c.say("go on"), "data-ended"))

	s := aguiServe(t, halfway())
	require.Contains(t, fmt.Sprint(s.say("two", "say it")), "ENDED")
	require.Contains(t, fmt.Sprint(s.run("two", nil)), view.Failed.Ending())
}
