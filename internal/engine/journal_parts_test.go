// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/engine"
)

// TestRecordsAreRead: a line is a record if it says what it is about, even if a newer program has written what follows.
func TestRecordsAreRead(t *testing.T) {
	for _, line := range []string{``, `{`, `[]`, `{}`, `{"step":1}`, `{"op":""}`} {
		require.Nil(t, engine.ReadRecord([]byte(line)), line)
	}
	r := engine.ReadRecord([]byte(`{"op":"tool","step":2,"call":"c","tool":"t","at":"2000-01-01T00:00:00Z"}`))
	require.Equal(t, &engine.Record{Op: engine.RecordTool, Step: 2, Call: "c", Tool: "t", At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}, r)
	r = engine.ReadRecord([]byte(`{"op":"model","step":3,"response":{"v":99}}`))
	require.Equal(t, engine.RecordModel, r.Op)
	require.Equal(t, 3, r.Step)
}

// TestAnswersOfRecords: what a record of a call or of a check says to the model. Calls that wait have no answer yet.
func TestAnswersOfRecords(t *testing.T) {
	failed := model.ToolReturn("c", "t", "no")
	failed.Outcome, failed.Meta, failed.Keep = model.OutcomeFailed, json.RawMessage(`{"a":1}`), "k"
	for line, want := range map[string]*model.Part{
		`{"op":"tool","call":"c","tool":"t","return":{"text":"yes"}}`:                                                    new(model.ToolReturn("c", "t", "yes")),
		`{"op":"tool","call":"c","tool":"t","return":{"text":"no","outcome":"failed","meta":{"a":1},"keep":"k"}}`:        &failed,
		`{"op":"tool","call":"c","tool":"t","return":{"text":"again","retry":true}}`:                                     new(model.Retry("c", "t", "again")),
		`{"op":"check","call":"c","tool":"t","return":{"text":"bad","retry":true}}`:                                      new(model.Retry("c", "t", "bad")),
		`{"op":"check","call":"c","tool":"t","none":true}`:                                                               nil,
		`{"op":"tool","call":"c","tool":"t"}`:                                                                            nil,
		`{"op":"output","call":"c","tool":"t","return":{"text":"again","retry":true}}`:                                   nil,
		`{"op":"tool","call":"c","tool":"t","return":{"approval":{"reason":"r"}}}`:                                       nil,
		`{"op":"tool","call":"c","tool":"t","return":{"deferred":true}}`:                                                 nil,
		`{"op":"tool","call":"c","tool":"t","return":{"pending":{"calls":[{"id":"i","tool":"u","args":{}}]},"text":""}}`: nil,
	} {
		r := engine.ReadRecord([]byte(line))
		require.NotNil(t, r, line)
		answer, ok := r.Answer()
		require.Equal(t, want != nil, ok, line)
		if want == nil {
			want = new(model.Part)
		}
		require.Equal(t, *want, answer, line)
	}
}

// TestDecisionsOfRecords: a record of an answer has the decision as it was made.
func TestDecisionsOfRecords(t *testing.T) {
	at := time.Date(2000, 1, 2, 3, 4, 5, 0, time.UTC)
	d := &model.Decision{Verdict: model.VerdictAllow, By: "ada", Args: json.RawMessage(`{"a":1}`), Always: true, Scope: "s", Meta: json.RawMessage(`{"m":1}`)}
	r := engine.NewAnswer(4, "c", "t", at, d)
	require.Equal(t, engine.RecordAnswer, r.Op)
	require.Equal(t, []any{4, "c", "t", at}, []any{r.Step, r.Call, r.Tool, r.At})
	require.Equal(t, d, r.Decided())
	line, err := json.Marshal(r)
	require.NoError(t, err)
	back := engine.ReadRecord(line)
	require.Equal(t, d, back.Decided())
	require.Equal(t, r, back)
	_, ok := back.Answer()
	require.False(t, ok)
}

// TestRecordsAreSplitWhereTheyCanBeJoined: the response or the decision is kept apart from the rest of a line, if the line can be made of both
// again, byte for byte.
func TestRecordsAreSplitWhereTheyCanBeJoined(t *testing.T) {
	for line, want := range map[string][2]string{
		`{"op":"model","step":1,"response":{"v":1,"kind":"response","parts":[]}}`:   {`{"v":1,"kind":"response","parts":[]}`, `{"op":"model","step":1}`},
		`{"op":"approve","call":"c","decision":{"verdict":"allow"}}`:                {`{"verdict":"allow"}`, `{"op":"approve","call":"c"}`},
		`{"op":"model","used":{"requests":1},"response":{"v":1,"kind":"response"}}`: {`{"v":1,"kind":"response"}`, `{"op":"model","used":{"requests":1}}`},
		`{"op":"model","step":1}`: {},
		`{"op":"model","step":1,"response":{"v":1,"kind":"response"},"used":{"requests":1}}`:                    {}, // the value is not the last member
		`{"op":"model", "response":{"v":1,"kind":"response"}}`:                                                  {}, // blanks
		`{"op":"model","response": {"v":1,"kind":"response"}}`:                                                  {},
		`{"op":"model","response":{"v":1,"kind":"response"} }`:                                                  {},
		`{"op":"tool","return":{"text":"x"}}`:                                                                   {},
		`{"op":"model","response":{"v":1,"kind":"response","parts":[{"kind":"text","text":",\"response\":"}]}}`: {`{"v":1,"kind":"response","parts":[{"kind":"text","text":",\"response\":"}]}`, `{"op":"model"}`},
		`{"response":{"v":1,"kind":"response"},"op":"model"}`:                                                   {}, // it is the first member
		`{"op":"model","response":{"v":1,"kind":"response"}`:                                                    {}, // no JSON
	} {
		r := engine.ReadRecord([]byte(line))
		if r == nil { // a line that is cut off says nothing
			r = &engine.Record{Op: engine.RecordModel}
		}
		value, rest, ok := engine.SplitRecord(r, []byte(line))
		require.Equal(t, want[0] != "", ok, line)
		if !ok {
			continue
		}
		require.Equal(t, want[0], string(value))
		require.Equal(t, want[1], string(rest))
		before := string(rest)
		require.Equal(t, line, string(engine.JoinRecord(r, rest, value)))
		require.Equal(t, before, string(rest), "the parts stay as they are")
	}
}
