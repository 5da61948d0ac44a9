// SPDX-License-Identifier: Apache-2.0

package acpregistry_test

import (
	"fmt"
	"log"

	"github.com/ponte-go/ponte/acpbridge/acpregistry"
)

func Example() {
	a, err := acpregistry.Builtin().Find("claude-code")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.ID, "is", a.Name, "from", a.Distribution.NPX.Package)
	_, err = acpregistry.Builtin().Find("geminy")
	fmt.Println(err)
	// Output:
	// claude-acp is Claude Code from @agentclientprotocol/claude-agent-acp@0.100.0
	// acpregistry: there is no agent "geminy"; did you mean gemini?
}
