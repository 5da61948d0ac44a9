// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpmcp_test

import (
	"fmt"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// An agent for editors that uses the MCP servers of the editor.
func Example() {
	servers := acpmcp.New(acpmcp.Config{})
	a := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Model: modeltest.Script(),
		Toolsets: []toolset.Toolset[deps.ACPDeps]{
			acpbridge.Toolset[deps.ACPDeps](),
			acpmcp.Toolset(servers, mcptoolset.Options[deps.ACPDeps]{}),
		},
	}))
	config := acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a}, Options: acpbridge.Options{MCP: servers}}
	// acpbridge.Serve(ctx, config) serves it.
	fmt.Println(config.MCP.Capabilities().HTTP)
	// Output: true
}
