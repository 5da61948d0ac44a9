// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

func TestInstructionsOfToolsetsAreJoinedInOrder(t *testing.T) {
	both(t, toolset.Instructed(tells("a"), "First."), func(t *testing.T, inner set) {
		s := toolset.Prefixed(toolset.Instructed(toolset.Instructed(inner, "Second."), ""), "x_")
		tr := run(t, []set{s, tells("b"), toolset.Instructed(tells("c"), "Third.")}, say("b"), done)
		require.NoError(t, tr.err)
		for _, r := range tr.script.Requests() {
			require.Equal(t, "First.\n\nSecond.\n\nThird.", r.Instructions)
		}
	})
}

// advised is a toolset whose instructions change with each step.
type advised struct{ set }

func (a advised) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	in, err := a.set.Open(ctx, run)
	return advisedInstance{in}, err
}

type advisedInstance struct{ toolset.Instance[deps] }

func (a advisedInstance) Tools(ctx context.Context, run *runContext) (toolset.Listing[deps], error) {
	l, err := a.Instance.Tools(ctx, run)
	l.Instructions = fmt.Sprintf("Step %d.", run.Step)
	return l, err
}

func TestChangingInstructionsKeepTheTools(t *testing.T) {
	for name, combine := range combinators() {
		s, offered := combine(advised{tells("tell", "second")})
		s = toolset.Instructed(s, "Always.")
		in := open(t, toolset.Combine(s, tells("last")))
		rc := &runContext{}
		rc.Step = 1
		first, err := in.Tools(t.Context(), rc)
		require.NoError(t, err)
		rc.Step = 2
		second, err := in.Tools(t.Context(), rc)
		require.NoError(t, err)
		require.Same(t, &first.Tools[0], &second.Tools[0], name)
		require.Contains(t, first.Instructions, "Step 1.", name)
		require.Contains(t, second.Instructions, "Step 2.", name)
		require.Contains(t, second.Instructions, "\n\nAlways.", name)
		require.Contains(t, names(second), offered)
	}
}

func TestDefaultsApplyToUnsetOptions(t *testing.T) {
	quiet := tell("quiet")
	loud := toolset.Plain[deps]("loud", "", func(context.Context, noArgs) (string, error) { return "", nil },
		toolset.Timeout(time.Second), toolset.Retries(0), toolset.OfKind(toolset.KindRead, "Loud"))
	both(t, toolset.Of(quiet, loud), func(t *testing.T, inner set) {
		in := open(t, toolset.Defaults(inner, toolset.Sequential(), toolset.Timeout(time.Minute), toolset.Retries(5), toolset.OfKind(toolset.KindFetch, "Title")))
		l, err := in.Tools(t.Context(), &runContext{})
		require.NoError(t, err)
		require.Equal(t, toolset.Options{Sequential: true, Timeout: time.Minute, Retries: new(5), Kind: toolset.KindFetch, Title: "Title"}, l.Tools[0].Options)
		require.Equal(t, toolset.Options{Sequential: true, Timeout: time.Second, Retries: new(0), Kind: toolset.KindRead, Title: "Loud"}, l.Tools[1].Options)
	})
	require.Zero(t, quiet.Options, "the tool itself is not changed")
}

func TestToolsetRetriesOverrideAgentRetries(t *testing.T) {
	s := toolset.Defaults(toolset.Of(fails("f", toolset.Retry("no"))), toolset.Retries(2))
	tr := run(t, []set{s}, say("f"), say("f"), say("f"))
	require.Error(t, tr.err)
	require.Equal(t, []string{"no", "no", "no"}, tr.answers)
}

func ExampleInstructed() {
	query := toolset.Plain[int]("query", "", func(context.Context, struct{}) (string, error) { return "", nil })
	s := toolset.Instructed(toolset.Of(query), "Look at the schema before you query.")
	in, err := s.Open(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := in.Tools(context.Background(), nil)
	fmt.Println(l.Instructions, err)
	// Output: Look at the schema before you query. <nil>
}

// TestDefaultsSetEveryOption: no field of Options that a default sets is ignored.
func TestDefaultsSetEveryOption(t *testing.T) {
	no := func(context.Context, *runContext, struct{}) (string, error) { return "", nil }
	defaults := func(own []toolset.Option, all ...toolset.Option) set {
		return toolset.Defaults(toolset.Of(toolset.Func("t", "", no, own...)), all...)
	}
	options := func(s set) toolset.Options { return s.(toolset.Fixed[deps]).FixedTools()[0].Options }
	for field := range reflect.TypeFor[toolset.Options]().Fields() {
		if !field.IsExported() {
			continue
		}
		fill := func(o *toolset.Options) {
			switch v := reflect.ValueOf(o).Elem().FieldByIndex(field.Index); v.Kind() {
			case reflect.Bool:
				v.SetBool(true)
			case reflect.String:
				v.SetString("default")
			case reflect.Int64:
				v.SetInt(7)
			default:
				o.Retries = new(7)
			}
		}
		var want toolset.Options
		fill(&want)
		require.Equal(t, want, options(defaults(nil, fill)), field.Name)
	}
	own := []toolset.Option{toolset.InMemory("a cache"), toolset.Idempotent()}
	want := toolset.Options{InMemory: "a cache", Idempotent: true}
	require.Equal(t, want, options(defaults(own, toolset.InMemory("more"))))
	err := toolset.Stateless(defaults(nil, toolset.InMemory("a cache"))).(toolset.Checker).Check()
	require.ErrorAs(t, err, new(*toolset.InMemoryError))
}

func ExampleDefaults() {
	fetch := toolset.Plain[int]("fetch", "", func(context.Context, struct{}) (string, error) { return "", nil })
	tools := toolset.Defaults(toolset.Of(fetch), toolset.Timeout(10*time.Second), toolset.Retries(2))
	show(tools, 0)
	// Output: [fetch]
}
