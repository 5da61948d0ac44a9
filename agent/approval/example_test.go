// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

// What the user answers with "always" holds for a scope, for the rest of the session.
func ExamplePolicy() {
	var p approval.Policy
	p.Remember("run_command", "go test", toolset.VerdictAllow)
	fmt.Println(p.Decide("run_command", "go test"))
	fmt.Println(p.Decide("run_command", "go run"))
	data, _ := json.Marshal(&p)
	fmt.Println(string(data))
	// Output:
	// allow
	// defer
	// {"version":1,"rules":[{"tool":"run_command","scope":"go test","verdict":"allow"}]}
}

func ExampleThroughLinks() {
	config, err := approval.ParseConfig([]byte(`{"rules": [{"decision": "deny", "path": "**/.env"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	layer, err := config.Layer("/repo")
	if err != nil {
		log.Fatal(err)
	}
	layer = approval.ThroughLinks(layer, "/repo") // notes.txt may be a link to .env
	fmt.Println(layer.Name)
	// Output: configuration
}
