// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/otelagent"
)

// What an editor has sent is what the agent's own requests carry.
func ExampleJoinTrace() {
	ctx := otelagent.JoinTrace(context.Background(), map[string]json.RawMessage{
		"traceparent": json.RawMessage(`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`),
	})
	fmt.Println(string(otelagent.TraceMeta(ctx)["traceparent"]))
	// Output: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
}
