// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

// answer asks a model and prints the response.
func answer(m model.Model, question string) {
	msg, err := m.Generate(context.Background(), &model.Request{Messages: []*model.Message{model.UserText(question)}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Text())
}

var overloadedError = &model.APIError{Provider: "openai", Model: "large", Status: 503, Message: "too busy", Retryable: true}

func ExampleFallback() {
	large := modeltest.Script(modeltest.Fail(overloadedError))
	small := modeltest.Script(modeltest.SayText("Oslo."))

	m := modelwrap.Fallback([]model.Model{large, small}, modelwrap.FallbackPolicy{
		Check: modelwrap.Usable,
		Observe: func(_ context.Context, failed model.Info, err error) {
			fmt.Println("continuing without", failed.Name+":", err)
		},
	})
	answer(m, "What is the capital of Norway?")
	// Output:
	// continuing without script: model: openai large: HTTP 503 Service Unavailable: too busy
	// Oslo.
}

func ExampleRetry() {
	m := modelwrap.Retry(
		modeltest.Script(modeltest.Fail(overloadedError), modeltest.SayText("Oslo.")),
		model.RetryPolicy{Attempts: 5, Base: time.Millisecond},
	)
	answer(m, "What is the capital of Norway?")
	// Output: Oslo.
}

func ExampleLimit() {
	// All agents that use m share a limit of two concurrent requests.
	m := modelwrap.Limit(modeltest.Script(modeltest.SayText("Oslo.")), 2)
	answer(m, "What is the capital of Norway?")
	// Output: Oslo.
}

func ExampleRateLimit() {
	m := modelwrap.RateLimit(
		modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two"), modeltest.SayText("three")),
		modelwrap.Rate{Requests: 60, Tokens: 100_000, Per: 3 * time.Second, Burst: 1},
	)
	begin := time.Now()
	for range 3 {
		answer(m, "Go on.")
	}
	fmt.Println(time.Since(begin) >= 100*time.Millisecond)
	// Output:
	// one
	// two
	// three
	// true
}

func ExampleCache() {
	script := modeltest.Script(modeltest.SayText("Oslo."))
	m := modelwrap.Cache(script, modelwrap.NewMemory(modelwrap.MemoryLimits{Entries: 500}), modelwrap.CachePolicy{Coalesce: true})
	answer(m, "What is the capital of Norway?")
	answer(m, "What is the capital of Norway?")
	fmt.Printf("%+v\n", m.Stats())
	// Output:
	// Oslo.
	// Oslo.
	// {Hits:1 Shared:0 Misses:1}
}

func ExampleCost() {
	prices := model.Prices{"modeltest/script": {Input: 2, CachedInput: 0.5, Output: 8}}
	m := modelwrap.Cost(modeltest.Script(modeltest.SayText("Oslo.")), prices, func(_ context.Context, c modelwrap.Charge) {
		fmt.Printf("%d tokens in, %d out: $%.6f %v\n", c.Usage.InputTokens, c.Usage.OutputTokens, c.Amount, c.Err)
	})
	answer(m, "What is the capital of Norway?")
	total := m.Total()
	fmt.Printf("$%.6f in all, complete: %t\n", total.Amount, total.Known())
	// Output:
	// 10 tokens in, 5 out: $0.000060 <nil>
	// Oslo.
	// $0.000060 in all, complete: true
}
