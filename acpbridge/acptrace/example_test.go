// SPDX-License-Identifier: Apache-2.0

package acptrace_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acptrace"
)

// What an editor has sent is what the agent's own requests carry.
func ExampleJoin() {
	ctx := acptrace.Join(context.Background(), map[string]json.RawMessage{
		"traceparent": json.RawMessage(`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`),
	})
	fmt.Println(string(acptrace.Meta(ctx)["traceparent"]))
	// Output: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
}
