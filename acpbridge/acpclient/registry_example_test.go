// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"fmt"
	"log"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

func Example_registry() {
	a, err := acpclient.BuiltinRegistry().Find("claude-code")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.ID, "is", a.Name, "from", a.Distribution.NPX.Package)
	_, err = acpclient.BuiltinRegistry().Find("geminy")
	fmt.Println(err)
	// Output:
	// claude-acp is Claude Code from @agentclientprotocol/claude-agent-acp@0.100.0
	// acpclient: there is no agent "geminy"; did you mean gemini?
}
