package deps_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
)

func TestARuleHoldsForItsToolAndScope(t *testing.T) {
	var p deps.Policy
	assert.Equal(t, deps.Ask, p.Decide("run", "go test"))
	p.Remember("run", "go test", deps.Allow)
	p.Remember("run", "nothing", deps.Ask)
	assert.Equal(t, deps.Allow, p.Decide("run", "go test"))
	assert.Equal(t, deps.Allow, p.Decide("run", "exactly", "go test"))
	assert.Equal(t, deps.Ask, p.Decide("run", "go"))
	assert.Equal(t, deps.Ask, p.Decide("write", "go test"))
	assert.Equal(t, []deps.Rule{{Tool: "run", Scope: "go test", Verdict: deps.Allow}}, p.Rules())
}

func TestARejectionWinsOverEveryPermission(t *testing.T) {
	var p deps.Policy
	p.Remember("run", "a", deps.Reject)
	p.Remember("run", "a", deps.Allow)
	p.Remember("run", "", deps.Allow)
	p.Remember("run", "b", deps.Allow)
	assert.Equal(t, deps.Reject, p.Decide("run", "b", "a"))
	assert.Equal(t, deps.Allow, p.Decide("run", "c"), "the empty scope covers everything")
	p.Forget("run", "a")
	assert.Equal(t, deps.Allow, p.Decide("run", "b", "a"))
}

func TestANilPolicyAsksAboutEverythingAndRemembersNothing(t *testing.T) {
	var p *deps.Policy
	p.Remember("run", "", deps.Allow)
	p.Forget("run", "")
	assert.Equal(t, deps.Ask, p.Decide("run"))
	assert.Empty(t, p.Rules())
	v, err := p.AskOnce(t.Context(), "run", nil, func(context.Context) (deps.Verdict, error) { return deps.Allow, nil })
	require.NoError(t, err)
	assert.Equal(t, deps.Allow, v)
}

func TestAPolicySurvivesItsJSON(t *testing.T) {
	var p, q deps.Policy
	p.Remember("write", "/a b", deps.Reject)
	p.Remember("run", "go test", deps.Allow)
	p.Remember("run", "", deps.Allow)
	data, err := json.Marshal(&p)
	require.NoError(t, err)
	assert.Equal(t, `{"version":1,"rules":[{"tool":"run","verdict":"allow"},{"tool":"run","scope":"go test","verdict":"allow"},{"tool":"write","scope":"/a b","verdict":"reject"}]}`, string(data))
	q.Remember("old", "", deps.Allow)
	require.NoError(t, json.Unmarshal(data, &q))
	assert.Equal(t, p.Rules(), q.Rules())

	empty, err := json.Marshal(new(deps.Policy))
	require.NoError(t, err)
	assert.Equal(t, `{"version":1,"rules":[]}`, string(empty))
	for _, bad := range []string{`{}`, `{"version":2}`, `[]`, `{"version":1,"rules":[{"tool":"x","verdict":"maybe"}]}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &q), bad)
		assert.Len(t, q.Rules(), 3, "a policy that cannot be read changes nothing")
	}
}

func TestOneQuestionIsAskedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p deps.Policy
		asked := 0
		ask := func(context.Context) (deps.Verdict, error) {
			asked++
			time.Sleep(time.Second)
			p.Remember("run", "go test", deps.Allow)
			return deps.Allow, nil
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				v, err := p.AskOnce(t.Context(), "run", []string{"go test"}, ask)
				assert.NoError(t, err)
				assert.Equal(t, deps.Allow, v)
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(acp.ErrTurnCancelled)
		_, err := p.AskOnce(ctx, "run", []string{"other"}, ask)
		require.ErrorIs(t, err, acp.ErrTurnCancelled)
		all.Wait()
		assert.Equal(t, 1, asked)
	})
}

func TestAPanicWhileAskingLetsTheNextOneAsk(t *testing.T) {
	var p deps.Policy
	assert.Panics(t, func() {
		_, _ = p.AskOnce(t.Context(), "run", nil, func(context.Context) (deps.Verdict, error) { panic("boom") })
	})
	v, err := p.AskOnce(t.Context(), "run", nil, func(context.Context) (deps.Verdict, error) { return deps.Reject, nil })
	require.NoError(t, err)
	assert.Equal(t, deps.Reject, v)
}
