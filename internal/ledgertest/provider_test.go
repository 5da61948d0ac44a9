// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// dice is a source whose draws are known: each has n sides and shows a value.
type dice struct{ draws [][2]uint64 }

func (d *dice) Uint64() uint64 {
	if len(d.draws) == 0 {
		return 0
	}
	n, v := d.draws[0][0], d.draws[0][1]
	d.draws = d.draws[1:]
	return (v<<32/n+1)<<32 | v // a draw takes the low bits if n is a power of two, and scales the high ones otherwise
}

// TestWhatBecomesOfRequests has each of the hundred things that a provider may do: what it returns, what it sends to a sink that takes it or
// not, and what it enters into its ledger.
func TestWhatBecomesOfRequests(t *testing.T) {
	var b strings.Builder
	last := ""
	for _, ends := range []string{"", "before", "meanwhile"} {
		for _, sinks := range []string{"none", "takes", "fails"} {
			fmt.Fprintf(&b, "# ended %q, sink %s\n", ends, sinks)
			for _, asked := range names {
				last = ""
				for roll := range uint64(100) {
					p := &provider{rnd: rand.New(&dice{[][2]uint64{{999, 4}, {999, 998}, {100, roll}, {5, 2}}}), ledger: Ledger{Happened: map[string]int{}}}
					ctx, cancel := context.WithCancel(t.Context())
					cancelled := 0
					p.cancel = func() { cancelled++; cancel() }
					if asked == "model-bb" {
						p.cancel = nil
					}
					if ends == "before" {
						cancel()
					}
					if ends == "meanwhile" { // as the second draw is made
						p.rnd = rand.New(ending{&dice{[][2]uint64{{999, 4}, {999, 998}, {100, roll}, {5, 2}}}, cancel, new(int)})
					}
					var sent []string
					var sink model.Sink
					if sinks != "none" {
						sink = func(d model.Delta) error {
							sent = append(sent, fmt.Sprintf("%v %v %q", d.Kind, *d.Usage, d.Text))
							if sinks == "fails" {
								return errors.New("no sink")
							}
							return nil
						}
					}
					resp, err := p.respond(ctx, asked, model.Response(model.Text("x")), sink)
					cancel()
					got := fmt.Sprintf("error %v, sent %v, cancelled %d, %v", err, sent, cancelled, p.ledger)
					if resp != nil {
						got += fmt.Sprintf(", %q by %s %s, %v %v", resp.Text(), resp.Provider, resp.Model, resp.Usage, resp.Finish)
					}
					if got != last {
						fmt.Fprintf(&b, "%s from %d: %s\n", asked, roll, got)
						last = got
					}
				}
			}
		}
	}
	golden(t, "requests", b.String())
}

// ending ends a context with the second draw, before it is known what happens.
type ending struct {
	*dice
	end context.CancelFunc
	n   *int
}

func (e ending) Uint64() uint64 {
	if *e.n++; *e.n == 3 {
		e.end()
	}
	return e.dice.Uint64()
}

// TestPricesOfTheProvider has the price of each model, and what a ledger makes of answers by one in place of another.
func TestPricesOfTheProvider(t *testing.T) {
	var b strings.Builder
	used := model.Usage{InputTokens: 1000, OutputTokens: 20}
	for _, asked := range names {
		price, ok := prices{}.Price("p", asked, time.Time{})
		fmt.Fprintf(&b, "%s: %+v %v\n", asked, price, ok)
		l := Ledger{Happened: map[string]int{}}
		l.lost(asked)
		fmt.Fprintf(&b, "  lost: %v\n", l)
		for _, name := range names {
			for _, u := range []model.Usage{used, {}} {
				l := Ledger{Happened: map[string]int{}}
				l.answered(asked, name, u)
				fmt.Fprintf(&b, "  %s %v: %v\n", name, u, l)
			}
		}
	}
	golden(t, "prices", b.String())
	of := Of(toolset.Usage{Requests: 2, Usage: used, Cost: 1.0000000006, Unpriced: 3})
	require.Equal(t, Ledger{Requests: 2, Usage: used, Nano: 1_000_000_001, Unknown: 3}, of)
	of.Parallel, of.Happened = 4, map[string]int{"x": 1}
	require.Equal(t, Ledger{Requests: 2, Usage: used, Nano: 1_000_000_001, Unknown: 3}, of.Counted())
}

// A window takes what fits, a request of which nothing is known stays reserved, and all runs have the same window.
func TestWindowsOfTrees(t *testing.T) {
	b := &Book{bound: 2*MaxTokens + 10}
	reserve := func() func(toolset.Spent) bool {
		settle, err := b.Reserve(t.Context(), model.Info{}, nil)
		if err != nil {
			require.Nil(t, settle)
			require.Same(t, ErrBook, err)
		}
		return settle
	}
	all := func() []int64 {
		used, held, unknown, refused := b.Used()
		return []int64{used, held, int64(unknown), int64(refused)}
	}
	first, second := reserve(), reserve()
	require.NotNil(t, second)
	require.Nil(t, reserve())
	require.Equal(t, []int64{0, 2 * MaxTokens, 0, 1}, all())
	require.True(t, first(toolset.Spent{Response: &model.Message{Usage: model.Usage{InputTokens: 7, OutputTokens: 3}}}))
	require.Equal(t, []int64{10, MaxTokens, 0, 1}, all())
	third := reserve() // fits to the token
	require.NotNil(t, third)
	require.True(t, second(toolset.Spent{}))
	require.Equal(t, []int64{10, MaxTokens, 0, 1}, all())
	require.True(t, third(toolset.Spent{Unknown: true}))
	require.Equal(t, []int64{10, MaxTokens, 1, 1}, all())
	b.used++
	require.Nil(t, reserve())
	require.Equal(t, []int64{11, MaxTokens, 1, 2}, all())
	for _, bound := range []int64{0, -1} {
		b.bound = bound
		require.NotNil(t, reserve())
	}
	require.Equal(t, any(b), b.Key())
	require.Same(t, b.policy(), b.policy())
	tree := New(1, Options{Window: 5})
	require.Same(t, tree.Book.policy(), tree.Policy())
	require.EqualValues(t, 5, tree.Book.bound)
	require.Equal(t, 1998, MaxTokens)
}

// An agent makes calls at first, each with arguments that its tool takes, and then says that it is done.
func TestWhatAgentsDecide(t *testing.T) {
	tools := []string{"note", "inner", "over", "delegate", "cancel_agent", "ask"}
	var b strings.Builder
	for _, n := range []int{0, len(tools)} {
		for responses := range 6 {
			for more := range uint64(3) {
				for first := range uint64(6) {
					req := &model.Request{}
					for _, name := range tools[:n] {
						req.Tools = append(req.Tools, model.ToolDef{Name: name})
					}
					req.Messages = append(req.Messages, model.UserText("go"))
					for range responses {
						req.Messages = append(req.Messages, model.Response(model.Text("x")))
					}
					tree := &Tree{}
					sides := [][2]uint64{{3, more}, {2, first % 2}, {6, first}, {2, first % 2}, {6, 5 - first}, {2, 0}}
					if first != 3 {
						sides = append(sides[:3:3], sides[4:]...)
					}
					if n == 0 || responses > 3 || more == 0 {
						sides = [][2]uint64{{3, more}, {1000, 999}}
						if n == 0 || responses > 3 {
							sides = sides[1:]
						}
					}
					tree.provider.rnd = rand.New(&dice{sides})
					resp := tree.decide(req)
					fmt.Fprintf(&b, "%d tools, %d responses, %d %d:", n, responses, more, first)
					for _, p := range resp.Parts {
						fmt.Fprintf(&b, " %s%s %s%s", p.CallID, p.Text, p.Tool, p.Args)
					}
					b.WriteString("\n")
				}
			}
		}
	}
	golden(t, "decides", b.String())
}

// A hook sends some requests twice, unless a limit is reached, and answers some itself.
func TestHooksSendTwiceOrNotAtAll(t *testing.T) {
	var b strings.Builder
	for side := range uint64(6) {
		for _, fails := range []error{nil, errors.New("away"), &toolset.LimitError{}} {
			tree := &Tree{}
			tree.provider.ledger.Happened = map[string]int{}
			tree.provider.rnd = rand.New(&dice{[][2]uint64{{6, side}}})
			sent := 0
			resp, err := tree.hooks().Request(t.Context(), nil, &model.Request{}, func(context.Context, *model.Request) (*model.Message, error) {
				sent++
				if fails != nil {
					return nil, fails
				}
				return model.Response(model.Text(fmt.Sprint("answer ", sent))), nil
			})
			fmt.Fprintf(&b, "%d, fails %v: sent %d, %v, error %v", side, fails != nil, sent, tree.provider.ledger.Happened, err != nil)
			if resp != nil {
				fmt.Fprintf(&b, ", %q", resp.Text())
			}
			b.WriteString("\n")
		}
	}
	golden(t, "hooks", b.String())
}
