// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

// What a person has answered with "always" is not asked again.
func ExampleRemember() {
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		fmt.Println("asked about", r.Approval.Scope)
		return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
	}}
	asker := approval.Remember(new(approval.Policy), person)
	for _, scope := range []string{"go test", "go test", "go run"} {
		_, _ = asker.Approve(context.Background(), toolset.ApprovalRequest{
			Origin:   toolset.Origin{Path: []string{"1"}, Tool: "run_command"},
			Approval: toolset.Approval{Scope: scope},
		})
	}
	// Output:
	// asked about go test
	// asked about go run
}
