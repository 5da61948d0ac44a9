package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type deps struct{ base int }
type addArgs struct {
	X int `json:"x" jsonschema:"description=first"`
	Y int `json:"y" validate:"max=100"`
}

func TestSmoke(t *testing.T) {
	add := toolset.Func("add", "Add.", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) {
		return run.Deps.base + in.X + in.Y, nil
	})
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "add", `{"x":1,"y":2}`), model.ToolCall("2", "add", `{"x":1,"y":200}`)),
		modeltest.SayText("three it is"))
	a, err := agent.New(agent.Config[deps, string]{Model: m, Toolsets: []toolset.Toolset[deps]{toolset.Of(add)}})
	require.NoError(t, err)
	s := a.Stream(context.Background(), deps{}, "1+2?")
	for e := range s.Events() {
		t.Log(e.Kind, e.Part, e.PartKind, e.Text, e.Tool, string(e.Args), e.Valid, e.Result)
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, "three it is", res.Output)
	for _, m := range res.Messages {
		t.Logf("%+v", m.Parts)
	}
}
