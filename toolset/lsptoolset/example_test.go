// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"fmt"
	"log"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func ExampleCapability() {
	servers, err := lsptoolset.New(lsptoolset.Config{Run: local.Config{Sandbox: nil}})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	files := func(s *workspace.Session) *workspace.Session { return s }
	a, err := agent.New(agent.Config[*workspace.Session, string]{
		Model: modeltest.Script(modeltest.SayText("Hello.")),
		Capabilities: []agent.Capability[*workspace.Session]{
			lsptoolset.Capability(servers, files, lsptoolset.Options{}),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range a.Commands() {
		fmt.Println("/"+c.Name, c.Hint)
	}
	// Output: /diagnostics [path]
}

func ExampleKnown() {
	for _, s := range lsptoolset.Known() {
		if s.Files[".go"] != "" {
			fmt.Println(s.Name+":", s.Install)
		}
	}
	// Output: gopls: go install golang.org/x/tools/gopls@latest
}
