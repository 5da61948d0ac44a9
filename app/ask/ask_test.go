// SPDX-License-Identifier: Apache-2.0

package ask_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app/ask"
	"github.com/ponte-go/ponte/toolset"
)

func Example() {
	a := agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("Hello, Ada."))}))
	t := ask.New(strings.NewReader("I am Ada.\n"), os.Stdout)
	fmt.Println(len(ask.Converse(context.Background(), t, a, nil)), "messages")
	// Output:
	// > Hello, Ada.
	//
	// > 2 messages
}

// A person is asked before the tool is called.
func ExampleTurn() {
	type order struct {
		Number string `json:"number"`
	}
	refund := toolset.Func("refund", "Refund an order.", func(_ context.Context, _ *toolset.RunContext[any], o order) (string, error) {
		return "refunded " + o.Number, nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[any], o order) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Refund order " + o.Number}, nil
	}))
	call := model.ToolCall("1", "refund", `{"number": "17"}`)
	says := modeltest.Script(modeltest.Say(call), modeltest.SayText("You get your money."))
	a := agent.Must(agent.New(agent.Config[any, string]{Model: says, Tools: []*toolset.Tool[any]{refund}}))
	var out strings.Builder
	t := ask.New(strings.NewReader("y\n"), &out)
	_, err := ask.Turn(context.Background(), t, a, nil, "Refund order 17.", nil)
	fmt.Println(strings.ReplaceAll(out.String(), " \n", "\n"), err)
	// Output:
	// Refund order 17
	// Allow? [y/N]
	// [refund {"number": "17"}]
	// You get your money.
	//  <nil>
}

func TestOnlyYAllows(t *testing.T) {
	for input, want := range map[string]toolset.Verdict{
		"y\n": toolset.VerdictAllow, "Y\n": toolset.VerdictDeny, "yes\n": toolset.VerdictDeny, "\n": toolset.VerdictDeny, "": toolset.VerdictDeny,
	} {
		var out bytes.Buffer
		d, err := ask.New(strings.NewReader(input), &out).Approve(t.Context(), toolset.ApprovalRequest{Approval: toolset.Approval{Title: "Refund\x1b[2J 80"}})
		require.NoError(t, err)
		require.Equal(t, want, d.Verdict, input)
		require.Contains(t, out.String(), "Refund")
		require.NotContains(t, out.String(), "\x1b")
	}
}

func TestNobodyAnswersAtTheEndOfTheInput(t *testing.T) {
	_, err := ask.New(strings.NewReader(""), new(bytes.Buffer)).Answer(t.Context(), toolset.Question{Message: "Which?"})
	require.ErrorIs(t, err, toolset.ErrNobody)
	r, err := ask.New(strings.NewReader("this\n"), new(bytes.Buffer)).Answer(t.Context(), toolset.Question{Message: "Which?"})
	require.NoError(t, err)
	require.JSONEq(t, `{"answer":"this"}`, string(r.Content))
}

// A line that is too long ends the conversation with an error, not as the end of the input does.
func TestLineThatIsTooLongIsAnError(t *testing.T) {
	for input, wrong := range map[string]bool{"hello\n": false, strings.Repeat("x", 1<<20-1) + "\n": false, strings.Repeat("x", 1<<20) + "\n": true} {
		a := agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("Hello."))}))
		at := ask.New(strings.NewReader(input), new(bytes.Buffer))
		messages := ask.Converse(t.Context(), at, a, nil)
		require.Equal(t, wrong, at.Err() != nil)
		require.Equal(t, wrong, len(messages) == 0)
	}
}

func TestLineIsTheOnlyFieldOfAForm(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"city":{"type":"string","title":"City"}},"required":["city"]}`: `{"city":"s"}`,
		`{"properties":{"size":{"type":"string","enum":["m","l"]}}}`:                                   `{"size":"m"}`,
		`{"properties":{"days":{"type":"integer"}}}`:                                                   "",
		`{"properties":{"city":{"type":"string","minLength":2}}}`:                                      "",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`:                                 "",
		`[]`: "",
	} {
		var out bytes.Buffer
		r, err := ask.New(strings.NewReader("s\nm\n"), &out).Answer(t.Context(), toolset.Question{Message: "Which?", Schema: []byte(schema)})
		if want == "" {
			require.ErrorIs(t, err, toolset.ErrNobody, schema)
			continue
		}
		require.NoError(t, err, schema)
		require.JSONEq(t, want, string(r.Content))
	}
	var out bytes.Buffer
	r, err := ask.New(strings.NewReader("\n"), &out).Answer(t.Context(), toolset.Question{Message: "Visit", URL: "https://example.com/x"})
	require.NoError(t, err)
	require.Empty(t, r.Content)
	require.Contains(t, out.String(), "https://example.com/x")
}

func TestConversationGoesOnAfterAnError(t *testing.T) {
	var out bytes.Buffer
	script := modeltest.Script(modeltest.Fail(errors.New("down")), modeltest.SayText("Second."))
	a := agent.Must(agent.New(agent.Config[any, string]{Model: script}))
	messages := ask.Converse(t.Context(), ask.New(strings.NewReader("one\n\ntwo\n"), &out), a, nil)
	require.NotEmpty(t, messages)
	require.Contains(t, out.String(), "Second.")
}

// disk is an output that takes so many writes.
type disk int

func (d *disk) Write(p []byte) (int, error) {
	if *d--; *d < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// What cannot be shown is not done, and the error says so, whatever it is that cannot be shown.
func TestWhatCannotBeShownIsNotDone(t *testing.T) {
	const reads, pays = "read", "pay"
	var done []string
	tool := func(name string, options ...toolset.Option) *toolset.Tool[any] {
		return toolset.Func(name, "A tool.", func(context.Context, *toolset.RunContext[any], struct{}) (string, error) {
			done = append(done, name)
			return "done", nil
		}, options...)
	}
	asks := toolset.Approve(func(context.Context, *toolset.RunContext[any], struct{}) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	})
	a := agent.Must(agent.New(agent.Config[any, string]{
		Model: modeltest.Func(func(_ context.Context, r *model.Request) (*model.Message, error) {
			switch len(r.Messages) {
			case 1:
				return model.Response(model.Text("I look."), model.ToolCall("1", reads, "{}")), nil
			case 3:
				return model.Response(model.ToolCall("2", pays, "{}")), nil
			}
			return model.Response(model.Text("Paid.")), nil
		}),
		Tools: []*toolset.Tool[any]{tool(reads), tool(pays, asks)},
	}))
	for writes := range 20 {
		done = nil
		out := disk(writes)
		at := ask.New(strings.NewReader("y\n"), &out)
		at.Yes = true
		_, err := ask.Turn(t.Context(), at, a, nil, "Pay.", nil)
		if out >= 0 {
			require.NoError(t, err)
			require.Equal(t, []string{reads, pays}, done)
			require.Greater(t, writes, 4)
			return
		}
		require.ErrorContains(t, err, "the output cannot be written: no space left on device", "after %d writes", writes)
		require.EqualError(t, at.Err(), "the output cannot be written: no space left on device")
		if writes < 2 { // the text, and the question, which may be shown before the first call is
			require.NotContains(t, done, pays, "after %d writes", writes)
		}
	}
	t.Fatal("never enough room")
}

// A conversation ends where it cannot be shown, without reading on.
func TestConversationEndsWithItsOutput(t *testing.T) {
	script := modeltest.Script(modeltest.SayText("One."), modeltest.SayText("Two."))
	a := agent.Must(agent.New(agent.Config[any, string]{Model: script}))
	out := disk(2)
	at := ask.New(strings.NewReader("one\ntwo\n"), &out)
	ask.Converse(t.Context(), at, a, nil)
	require.ErrorContains(t, at.Err(), "no space left")
	require.Len(t, script.Requests(), 1)
}
