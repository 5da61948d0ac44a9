// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// A server that is started as a program when a run needs it.
func ExampleNew() {
	server, err := mcptoolset.New(mcptoolset.Config{
		Name: "files",
		Transport: mcptoolset.Command{
			Path: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/repo"},
			Env: []string{"TOKEN=secret"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	fmt.Println(server.Name(), server.Status().State)
	// Output: files idle
}

// A policy that allows one tool. All others need approval.
func ExampleTools() {
	f := newFake(nil)
	f.tool("echo", echo)
	server := mcptoolset.Must(mcptoolset.New(mcptoolset.Config{Name: "demo", Transport: mcptoolset.Func(f.dial)}))
	defer server.Close()

	set := mcptoolset.Tools(server, mcptoolset.Options[struct{}]{
		Policy: func(_ context.Context, _ *toolset.RunContext[struct{}], c mcptoolset.Call) (toolset.Verdict, error) {
			if c.Name == "echo" {
				return toolset.VerdictAllow, nil
			}
			return toolset.VerdictDefer, nil
		},
	})
	res, err := toolsettest.Call(context.Background(), set, nil, "demo_echo", `{"text":"hello"}`)
	fmt.Println(res.Text, err)
	// Output: {"text":"hello"} <nil>
}
