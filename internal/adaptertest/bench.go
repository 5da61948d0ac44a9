// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Ratio runs ours as the benchmark and the floor equally often, alternating to meet the same
// machine load, and reports the quotient of their times as "x-floor". The floor does the minimum
// for the same request and response: net/http, encoding/json and the required fields.
func Ratio(b *testing.B, ours, floor func()) {
	ours()
	floor()
	var oursTime, floorTime time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		ours()
		oursTime += time.Since(start)
		b.StopTimer()
		start = time.Now()
		floor()
		floorTime += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(oursTime)/float64(floorTime), "x-floor")
}

// LongHistory is a conversation of at least n messages, in which a model reads files.
func LongHistory(n int) []*model.Message {
	history := []*model.Message{model.UserText("What is where?")}
	for i := 1; len(history) < n; i++ {
		id := fmt.Sprint("call_", i)
		history = append(history,
			model.Response(model.Text("Let me look at that file."), model.ToolCall(id, "read", `{"path":"src/main.go","from":10,"to":20}`)),
			Request(model.ToolReturn(id, "read", strings.Repeat("func main() {\n\tfmt.Println(\"hello, wörld\")\n}\n", 10))))
	}
	return history
}
