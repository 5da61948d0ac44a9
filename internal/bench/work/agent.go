// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What agents are told, and what their models answer.
const (
	Instructions = "You add numbers."
	Prompt       = "What is 1+2?"
	Answer       = "the sum is 3"

	AddTool        = "add"
	SlowTool       = "slow"
	AddDescription = "Add two numbers."
	AddArgs        = `{"x":1,"y":2}`
	Sum            = "3"

	// Delta is a piece of a streamed answer.
	Delta = "token "

	// City is a valid output, BadCity one that breaks the rule that a population is at least 1.
	City       = `{"city":"Paris","population":2100000}`
	BadCity    = `{"city":"Paris","population":-1}`
	Population = 2_100_000

	// InputTokens and OutputTokens are the usage of every response, where a framework's responses carry one.
	InputTokens, OutputTokens = 10, 5
)

// Peer does the work with one framework. Each function prepares an agent with a model in this process, and returns what runs
// it; only the runs are measured. A nil function is something that the framework does not have, and its row stays empty.
type Peer struct {
	// New makes what one has to make before the first run: an agent with the tool add.
	New func()
	// Steps is an agent with the tool add, whose model does what [Steps] says.
	Steps func(n int) Run
	// Parallel is an agent with the tool slow, which takes the arguments of add and sleeps for d, and whose model calls it n
	// times in one response (see [CallID]), checks that it is shown n results, and answers.
	Parallel func(n int, d time.Duration) Run
	// Stream is an agent whose model streams n deltas, with [Deltas]. What runs it counts the deltas that reach the user, and
	// returns the whole text as the run's answer.
	Stream func(n int) func(ctx context.Context) (deltas int, text string, err error)
	// Structured is an agent whose output is a city with a population of at least 1, and whose model gives these answers,
	// over and over. What runs it returns the population.
	Structured func(answers ...string) func(ctx context.Context) (population int, err error)
	// Retries is set if the framework asks again after an invalid output.
	Retries bool
	// Waiting is an agent with the tool add, whose model calls wait and then answers. Many runs
	// wait at a time.
	Waiting func(wait func()) Run
}

// Run runs an agent once with [Prompt] and returns its answer.
type Run func(ctx context.Context) (answer string, err error)

// Steps is a model that calls add n times, one call a response, and then answers. It starts over when it has answered, and
// belongs to one run at a time.
type Steps struct{ n, turn int }

// NewSteps returns a model of n steps.
func NewSteps(n int) *Steps { return &Steps{n: n} }

// Next returns the id of the next call, or "" if the model answers now. Shown is the result of the call before, as the model
// is shown it; the first time it means nothing.
func (s *Steps) Next(shown string) (call string, err error) {
	if s.turn > 0 && shown != Sum {
		return "", fmt.Errorf("the model is shown %q, want %q", shown, Sum)
	}
	if s.turn == s.n {
		s.turn = 0
		return "", nil
	}
	s.turn++
	return CallID(s.turn), nil
}

// callIDs are made beforehand: making them is the model's work, not the framework's.
var callIDs = func() (ids [256]string) {
	for i := range ids {
		ids[i] = "call_" + strconv.Itoa(i)
	}
	return ids
}()

// CallID returns the id of the i-th tool call.
func CallID(i int) string { return callIDs[i] }

// Answers is a model's list of answers, over and over.
type Answers struct {
	texts []string
	next  int
}

// NewAnswers returns a list of answers.
func NewAnswers(texts ...string) *Answers { return &Answers{texts: texts} }

// Next returns the next answer.
func (a *Answers) Next() string {
	text := a.texts[a.next]
	a.next = (a.next + 1) % len(a.texts)
	return text
}

// Deltas is a model that sends [Delta] n times. It returns them joined, because some frameworks
// require that of models. Others join deltas themselves, or leave it to the user.
func Deltas(n int, send func(delta string) error) (text string, err error) {
	var b strings.Builder
	for range n {
		b.WriteString(Delta)
		if err := send(Delta); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// Must returns what a constructor made, and panics if it failed.
func Must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// Benchmark measures a peer, one sub-benchmark for each row of the table.
func Benchmark(b *testing.B, p Peer) {
	if p.New != nil {
		b.Run("NewAgent", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.New()
			}
		})
	}
	if p.Steps != nil {
		b.Run("OneTool", func(b *testing.B) { benchmarkRun(b, p.Steps(1)) })
		b.Run("Seq50", func(b *testing.B) { benchmarkRun(b, p.Steps(50)) })
		b.Run("Seq200", func(b *testing.B) { benchmarkRun(b, p.Steps(200)) })
	}
	if p.Parallel != nil {
		b.Run("Parallel16", func(b *testing.B) { benchmarkRun(b, p.Parallel(16, 10*time.Millisecond)) })
	}
	if p.Stream != nil {
		b.Run("Stream1000", func(b *testing.B) { benchmarkStream(b, p.Stream, 1000) })
		b.Run("Stream10000", func(b *testing.B) { benchmarkStream(b, p.Stream, 10_000) })
	}
	if p.Structured != nil {
		b.Run("Structured", func(b *testing.B) { benchmarkStructured(b, p.Structured(City)) })
	}
	if p.Structured != nil && p.Retries {
		b.Run("StructuredRetry", func(b *testing.B) { benchmarkStructured(b, p.Structured(BadCity, City)) })
	}
	if p.Waiting != nil {
		b.Run("Waiting", func(b *testing.B) { benchmarkWaiting(b, p.Waiting) })
	}
}

func benchmarkRun(b *testing.B, run Run) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if answer, err := run(ctx); err != nil || answer != Answer {
			b.Fatalf("answer %q, error %v", answer, err)
		}
	}
}

func benchmarkStream(b *testing.B, prepare func(n int) func(ctx context.Context) (int, string, error), n int) {
	run := prepare(n)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if deltas, text, err := run(ctx); err != nil || deltas != n || len(text) != n*len(Delta) {
			b.Fatalf("%d deltas, %d bytes, error %v", deltas, len(text), err)
		}
	}
}

func benchmarkStructured(b *testing.B, run func(ctx context.Context) (int, error)) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if population, err := run(ctx); err != nil || population != Population {
			b.Fatalf("population %d, error %v", population, err)
		}
	}
}
