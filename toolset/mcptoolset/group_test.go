// SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcptoolset_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// TestFiveServersOfWhichThreeAreBroken has one that hangs, one that crashes at the start, and one that dies in the middle of a call.
func TestFiveServersOfWhichThreeAreBroken(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	patiently := func(name string) func(*mcptoolset.Config) {
		return func(c *mcptoolset.Config) { c.Name, c.Wait = name, patience }
	}
	hangs := start(t, "hang", patiently("hangs"), func(c *mcptoolset.Config) { c.Wait, c.ConnectTimeout = 100*time.Millisecond, time.Hour })
	crashes := start(t, "crash", patiently("crashes"))
	dies := start(t, "serve", patiently("dies"))
	one, two := start(t, "serve", patiently("one")), serve(t, f, patiently("two"))
	set := mcptoolset.All([]*mcptoolset.Server{hangs, crashes, dies, one, two}, mcptoolset.Options[none]{})
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "dies_die", `{}`), model.ToolCall("2", "one_echo", `{"n":1}`), model.ToolCall("3", "two_echo", `{"n":2}`)),
		modeltest.SayText("done"))
	a := agent.Must(agent.New(agent.Config[none, string]{Model: m, Toolsets: []toolset.Toolset[none]{set}}))
	res, err := a.Run(t.Context(), none{}, "go", agent.WithAsker(&person{}))
	require.NoError(t, err)
	returns := res.Messages[2].Parts
	require.Contains(t, returns[0].Text, "The connection to the MCP server \"dies\" was lost during this call.")
	require.Equal(t, `{"n":1}`, returns[1].Text)
	require.Equal(t, `{"n":2}`, returns[2].Text)
	require.Equal(t, mcptoolset.StateConnecting, hangs.Status().State)
	require.ErrorContains(t, crashes.Status().Err, "cannot open the database")
}

func TestGroupConformance(t *testing.T) {
	f, g := newFake(nil), newFake(nil)
	f.tool("echo", echo)
	g.tool("c", echo)
	a, b := serve(t, f), serve(t, g, func(c *mcptoolset.Config) { c.Name = "s_b" })
	set := mcptoolset.All([]*mcptoolset.Server{a, b}, mcptoolset.Options[none]{Instructions: true})
	toolsettest.Conformance(t, func() toolset.Toolset[none] { return set }, none{}, toolsettest.Case{Tool: "s_echo", Args: `{}`}, toolsettest.Case{Tool: "s_b_c", Args: `{}`})
	_, err := mcptoolset.All([]*mcptoolset.Server{a, a, nil}, mcptoolset.Options[none]{}).Open(t.Context(), &toolset.RunContext[none]{})
	require.ErrorContains(t, err, `two servers are named "s"`)
	require.ErrorContains(t, err, "the server is nil")
}
