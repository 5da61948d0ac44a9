// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestJudgesThatAreLateOrPanicDoNotDecide: who asks the person is told why.
func TestJudgesThatAreLateOrPanicDoNotDecide(t *testing.T) {
	says := func(after time.Duration) model.Model {
		return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			time.Sleep(after) // it takes no notice of its context
			return model.Response(model.Text(allows)), nil
		})
	}
	for name, c := range map[string]struct {
		model   model.Model
		timeout time.Duration
		want    string
	}{
		"in time":           {says(time.Second - 1), time.Second, ""},
		"late":              {says(time.Second + 1), time.Second, "no decision within 1s"},
		"in the usual time": {says(30*time.Second - 1), 0, ""},
		"after it":          {says(30*time.Second + 1), 0, "no decision within 30s"},
		"a panic":           {modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { panic("ouch") }), 0, "panic: ouch"},
	} {
		synctest.Test(t, func(t *testing.T) {
			told := ""
			j := approval.Judge{Model: c.model, Timeout: c.timeout, OnError: func(_ context.Context, r *toolset.ApprovalRequest, err error) {
				require.Equal(t, "run", r.Tool)
				told = err.Error()
			}}
			d, _ := judged(t, j, request("x"))
			require.Equal(t, c.want, told, name)
			require.Equal(t, c.want == "", d.Verdict == toolset.VerdictAllow, name)
		})
	}
}

// TestPoliciesThatAreNotThereHaveNoRules: they can be written, asked, and told to forget.
func TestPoliciesThatAreNotThereHaveNoRules(t *testing.T) {
	var p *approval.Policy
	p.Remember("run", "s", toolset.VerdictAllow)
	p.Forget("run", "s")
	require.Equal(t, toolset.VerdictDefer, p.Decide("run", "s"))
	require.Nil(t, p.Rules())
	require.False(t, p.Drop(approval.Rule{Tool: "run"}))
	data, err := p.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"version":1,"rules":[]}`, string(data))
	data, err = json.Marshal(new(approval.Policy))
	require.NoError(t, err)
	require.Equal(t, `{"version":1,"rules":[]}`, string(data))
}

// TestEditsBelowRelativeDirectories: paths that are not absolute are compared as they are.
func TestEditsBelowRelativeDirectories(t *testing.T) {
	for path, want := range map[string]bool{"src/a": true, "src": false, "srcs/a": false, "src/../a": false, "src/b/../a": true} {
		require.Equal(t, want, approval.Edits(requested(toolset.KindEdit, wrote(path)), "src"), path)
		require.Equal(t, want, approval.Edits(requested(toolset.KindEdit, wrote(path)), "src/"), path)
	}
}
