// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// A handler sends a run to a browser as server-sent events.
func ExampleEvent_AppendJSON() {
	a, err := agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Script(modeltest.SayText("Hello, Ada!")), // a real program has a real model here
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		var line []byte
		for event := range a.Stream(r.Context(), struct{}{}, r.FormValue("prompt")).Events() {
			switch event.Kind {
			case agent.EventPartDelta, agent.EventRunEnd:
				line = event.AppendJSON(append(line[:0], "data: "...))
				w.Write(append(line, "\n\n"...))
				http.NewResponseController(w).Flush()
			}
		}
	}
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest("GET", "/?prompt=Hi", nil))
	fmt.Print(w.Body)
	// Output:
	// data: {"v":1,"kind":"part_delta","step":1,"part_kind":"text","text":"Hello, "}
	//
	// data: {"v":1,"kind":"part_delta","step":1,"part_kind":"text","text":"Ada!"}
	//
	// data: {"v":1,"kind":"run_end","step":1,"usage":{"requests":1,"input_tokens":10,"output_tokens":5}}
}

func ExampleEvent_UnmarshalJSON() {
	line := `{"v":1,"kind":"run_end","step":3,"error":{"kind":"api","text":"agent: model: acme: HTTP 429 Too Many Requests","stage":"model","status":429,"retryable":true}}`
	var event agent.Event
	if err := json.Unmarshal([]byte(line), &event); err != nil {
		fmt.Println(err)
		return
	}
	failed := agent.DescribeError(event.Err)
	fmt.Println(event.Kind, failed.Kind, failed.Status, failed.Retryable)
	// Output: run_end api 429 true
}

func ExampleWithPartials() {
	type Recipe struct {
		Name  string   `json:"name"`
		Steps []string `json:"steps"`
	}
	a, err := agent.New(agent.Config[struct{}, Recipe]{
		Model: modeltest.Script(modeltest.Say(final("1", `{"name":"Tea", "steps":["boil water", "wait"]}`))),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event := range a.Stream(context.Background(), struct{}{}, "A recipe!", agent.WithPartials()).Events() {
		switch event.Kind {
		case agent.EventPartial, agent.EventOutput:
			fmt.Println(event.Kind, event.Value)
		}
	}
	// Output:
	// partial {Tea []}
	// partial {Tea [boil ]}
	// partial {Tea [boil water]}
	// partial {Tea [boil water wait]}
	// output {Tea [boil water wait]}
}
