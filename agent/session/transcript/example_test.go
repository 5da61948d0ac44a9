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
func ExampleTranscript() {
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("The Akerselva."))}))
	t := transcript.New("session", transcript.Options{})
	t.Start("run")
	client := t.Fold().Cursor(nil)
	var d view.Delta
	t.Prompt([]model.Part{model.User("Name a river.")}, nil)
	for e := range a.Stream(context.Background(), struct{}{}, "Name a river.").Events() {
		t.Event(&e)
		for client.Take(&d) {
			fmt.Printf("%s %s %q\n", d.Op, d.ID, d.Text)
		}
	}
	t.Stop(transcript.Done)
	for e := range t.Fold().Snapshot().All() {
		fmt.Println(e.ID, e.Text())
	}
	// Output:
	// upsert prompt:run ""
	// upsert message:run/1 ""
	// append message:run/1 "Akerselva."
	// prompt:run Name a river.
	// message:run/1 The Akerselva.
}
