// SPDX-License-Identifier: Apache-2.0

package unstable_test

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
)

// An update that is not stable is sent as an acp.SessionUpdate.
func ExampleSessionUpdate_Stable() {
	u, err := (&unstable.SessionUpdate{PlanRemoved: &unstable.PlanRemoved{PlanID: "1"}}).Stable()
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := json.Marshal(u)
	fmt.Println(string(data), err)
	// Output: {"sessionUpdate":"plan_removed","planId":"1"} <nil>
}
