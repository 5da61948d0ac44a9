// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// A policy is asked when a call is checked and when it needs approval. If it fails or denies either
// time, the call is not made; only if it allows the call is nobody asked.
func TestPolicyIsAskedTwice(t *testing.T) {
	broken := errors.New("the policy is broken")
	allow, deny, defers := toolset.VerdictAllow, toolset.VerdictDeny, toolset.VerdictDefer
	type answer struct {
		verdict toolset.Verdict
		err     error
	}
	for i, c := range []struct {
		answers []answer
		want    string // of the error; "" is none
		asked   int
	}{
		{[]answer{{allow, nil}, {allow, nil}}, "", 2},
		{[]answer{{allow, nil}, {allow, broken}}, broken.Error(), 2},
		{[]answer{{defers, nil}, {defers, broken}}, broken.Error(), 2},
		{[]answer{{allow, broken}}, broken.Error(), 1},
		{[]answer{{deny, broken}}, broken.Error(), 1},
		{[]answer{{deny, nil}}, `denied: A policy denies this tool of the MCP server "s".`, 1},
		{[]answer{{defers, nil}, {defers, nil}}, "approval", 2},
		{[]answer{{allow, nil}, {deny, nil}}, "approval", 2},
	} {
		f := newFake(nil)
		f.tool("echo", echo)
		asked := 0
		set := mcptoolset.Tools(serve(t, f), mcptoolset.Options[none]{
			Policy: func(context.Context, *toolset.RunContext[none], mcptoolset.Call) (toolset.Verdict, error) {
				a := c.answers[asked]
				asked++
				return a.verdict, a.err
			},
		})
		res, err := toolsettest.Call(t.Context(), set, nil, "s_echo", `{"a":1}`)
		switch c.want {
		case "":
			require.NoError(t, err, i)
			require.Equal(t, `{"a":1}`, res.Text)
		case "approval":
			var ask *toolset.ApprovalRequiredError
			require.ErrorAs(t, err, &ask, i)
			require.Equal(t, "Call echo of the MCP server s", ask.Approval.Title)
		default:
			require.EqualError(t, err, c.want, i)
		}
		require.Equal(t, c.asked, asked, i)
		require.Equal(t, map[bool]int{true: 1, false: 0}[c.want == ""], f.count("tools/call"), i)
	}
}
