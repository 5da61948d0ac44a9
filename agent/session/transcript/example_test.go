// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// A run can be shown without a session, too.
func ExampleProjector() {
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("The Akerselva."))}))
	var fold view.Fold
	p := transcript.New(transcript.Options{Fold: &fold})
	p.Begin("run")
	client := fold.Cursor(nil)
	var d view.Delta
	p.Prompt([]model.Part{model.User("Name a river.")}, nil)
	for e := range a.Stream(context.Background(), struct{}{}, "Name a river.").Events() {
		p.Event(&e)
		for client.Take(&d) {
			fmt.Printf("%s %s %q\n", d.Op, d.ID, d.Text)
		}
	}
	p.End(transcript.Done)
	for e := range fold.Snapshot().All() {
		fmt.Println(e.ID, e.Text())
	}
	// Output:
	// upsert prompt:run ""
	// upsert message:run/1 ""
	// append message:run/1 "Akerselva."
	// prompt:run Name a river.
	// message:run/1 The Akerselva.
}
