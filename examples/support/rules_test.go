// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// A colleague decides about refunds of more than 50, and about what is no refund.
func TestWhichRefundsAreForAColleague(t *testing.T) {
	asks := guardrails.Ask("refunds of more than 50 are for a colleague")
	for text, want := range map[string]guardrails.Verdict{
		`{"number":"17","amount":1}`:   guardrails.Pass(),
		`{"number":"17","amount":50}`:  guardrails.Pass(),
		`{"number":"17","amount":51}`:  asks,
		`{"number":"17","amount":"a"}`: asks,
		`[]`:                           asks,
	} {
		got, err := refunds(t.Context(), nil, &guardrails.Subject{Text: text})
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

// Sixteen digits in fours are a card number, wherever they are.
func TestWhichNumbersAreOfCards(t *testing.T) {
	replaced := func(text string) guardrails.Verdict { return guardrails.Replace(text, "a card number") }
	for text, want := range map[string]guardrails.Verdict{
		"4111 1111 1111 1111":                      replaced("[card number]"),
		"4111-1111-1111-1111":                      replaced("[card number]"),
		"with 4111111111111111.":                   replaced("with [card number]."),
		"4111 1111 1111 1111, 5500 0000 0000 0004": replaced("[card number], [card number]"),
		"4111 1111 1111 111":                       guardrails.Pass(),
		"4111 1111 1111 11111":                     guardrails.Pass(),
		"order 17":                                 guardrails.Pass(),
		"":                                         guardrails.Pass(),
	} {
		got, err := cards(t.Context(), nil, &guardrails.Subject{Text: text})
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

// The orders of a customer are told to no other one. What has no customer is no order.
func TestWhoseOrdersAreTold(t *testing.T) {
	run := &toolset.RunContext[Deps]{Deps: Deps{Customer: "ada"}}
	none := guardrails.Replace("There is no such order.", "an order of somebody else")
	for text, want := range map[string]guardrails.Verdict{
		`{"customer":"ada","item":"a lamp"}`: guardrails.Pass(), `{"customer":"bob","item":"a chair"}`: none, `{"customer":"Ada"}`: none,
		`{"item":"a lamp"}`: guardrails.Pass(), "There is no such order.": guardrails.Pass(),
	} {
		got, err := others(t.Context(), run, &guardrails.Subject{Text: text})
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

func TestWhatCustomersAreToldOfErrors(t *testing.T) {
	free := time.Date(2026, 1, 2, 15, 4, 0, 0, time.Local)
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("agent: %w", &spend.Error{Free: free}), "There have been many questions. Please come back at 15:04."},
		{
			fmt.Errorf("agent: %w", &guardrails.BlockedError{Guard: "cards", Stage: guardrails.Input, Reason: "a card number"}),
			`The input was blocked by the guardrail "cards": a card number.`,
		},
		{errors.New("on fire"), "Something went wrong: on fire"},
	} {
		require.Equal(t, c.want, explain(c.err))
	}
}

// A customer has 200,000 tokens within an hour, of which a request may take 10,000; others have their own.
func TestHowMuchACustomerMayAsk(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	server, err := mcptoolset.New(mcptoolset.Config{
		Name: "shop", Transport: mcptoolset.Command{Path: self, Args: []string{"shop"}}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer server.Close()
	for used, more := range map[int64]bool{190_000: true, 190_001: false} {
		m := using{modeltest.Script(modeltest.SayText("Hello."), modeltest.SayText("Hello."), modeltest.SayText("Hello.")), used}
		a, err := newAgent(m, server)
		require.NoError(t, err)
		ask := func(customer string) error {
			_, err := a.Run(t.Context(), Deps{customer, new(memory.Map)}, "Hello")
			return err
		}
		require.NoError(t, ask("ada"))
		err = ask("ada")
		if more {
			require.NoError(t, err, used)
			continue
		}
		spent, ok := errors.AsType[*spend.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, []any{"hourly", "ada", time.Hour}, []any{spent.Window, spent.Key, spent.Length})
		require.NoError(t, ask("bob"))
	}
}

// using is a model whose responses use a number of tokens.
type using struct {
	model.Model
	tokens int64
}

func (u using) Generate(ctx context.Context, r *model.Request, sink model.Sink) (*model.Message, error) {
	answer, err := u.Model.Generate(ctx, r, sink)
	if answer != nil {
		answer.Usage = model.Usage{InputTokens: u.tokens}
	}
	return answer, err
}

// The model is the one that is named, or OpenAI's if there is a key, or else the demo model.
func TestWhichModelAnswers(t *testing.T) {
	for _, c := range []struct{ name, key, model, want string }{
		{"", "", "", "offline-demo"}, {"offline", "k", "", "offline-demo"}, {"", "k", "", "gpt-5-mini"}, {"", "k", "x", "x"},
		{"openai:y", "k", "x", "y"},
	} {
		t.Setenv("OPENAI_API_KEY", c.key)
		t.Setenv("OPENAI_MODEL", c.model)
		m, err := open(t.Context(), c.name)
		require.NoError(t, err)
		require.Equal(t, c.want, m.Info().Name)
	}
	_, err := open(t.Context(), "nobody:x")
	require.ErrorContains(t, err, "unknown provider")
}

func TestWhereNotesAre(t *testing.T) {
	store, err := remembered("")
	require.NoError(t, err)
	require.Equal(t, new(memory.Map), store)
	_, err = remembered(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Orders that there are not are told as such, and refunds add up.
func TestOrdersOfTheShop(t *testing.T) {
	out := talk(t, "ada", "", "", `use shop_order {"number":"19"}`, `use shop_refund {"number":"19","amount":1}`,
		`use shop_refund {"number":"17","amount":2}`, `use shop_refund {"number":"17","amount":3}`, `use shop_order {"number":"17"}`)
	require.Contains(t, out, "There is no such order.")
	require.Contains(t, out, "Refunded 2 for order 17.")
	require.Contains(t, out, `"refunded":5`)
	require.Contains(t, out, "delivered")
}
