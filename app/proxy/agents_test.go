// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"context"
	"log"
	"os"
	"testing"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// newPayer is an agent that asks whether it may pay, and says what came of it.
func newPayer() *agent.Agent[any, string] {
	says := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		if p := last[len(last)-1]; p.Kind == model.PartToolReturn {
			return model.Response(model.Text("It says: " + p.Text)), nil
		}
		return model.Response(model.ToolCall("c", "pay", `{}`)), nil
	})
	pay := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[any], struct{}) (string, error) { return "paid", nil },
		toolset.OfKind(toolset.KindEdit, "Pay"), toolset.Approve(func(context.Context, *toolset.RunContext[any], struct{}) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay"}, nil
		}))
	return agent.Must(agent.New(agent.Config[any, string]{Model: says, Tools: []*toolset.Tool[any]{pay}}))
}

// TestMain makes the other agent of this test's program.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && (os.Args[1] == "agent" || os.Args[1] == "payer") {
		desk := newDesk()
		if os.Args[1] == "payer" {
			desk = newPayer()
		}
		h, err := host.New(host.Config[any, string]{Agent: desk})
		if err == nil {
			err = acpbridge.ServeHost(context.Background(), h, acpbridge.Options{})
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}
