// SPDX-License-Identifier: Apache-2.0

package boxmeta_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/boxmeta"
)

// TestBothSidesReadWhatTheOtherWrites has all that is told, as it is written and as it is read.
func TestBothSidesReadWhatTheOtherWrites(t *testing.T) {
	for _, leave := range []bool{true, false} {
		boxed, may := boxmeta.Announced(boxmeta.Announce(leave))
		require.Equal(t, []bool{true, leave}, []bool{boxed, may})
	}
	for _, how := range []string{model.SandboxNetwork, model.SandboxNone} {
		require.Equal(t, how, boxmeta.Asked(boxmeta.Ask(how)))
	}
	require.Nil(t, boxmeta.Ask(""), "nothing is asked")
	paths := []string{"/a/.git/hooks/x", "/b"}
	require.Equal(t, paths, boxmeta.Told(boxmeta.Tell(paths)))
	require.Nil(t, boxmeta.Tell(nil), "nothing is told")
}

// TestWhatIsNotOursIsNothing has what another program may write below our keys.
func TestWhatIsNotOursIsNothing(t *testing.T) {
	for _, foreign := range []string{"", "null", "1", `[true]`, `"all"`, `{"leave":1}`, "{"} {
		m := boxmeta.Meta{"ponte.sandbox": json.RawMessage(foreign), "ponte.created": json.RawMessage(foreign)}
		boxed, leave := boxmeta.Announced(m)
		require.False(t, boxed, foreign)
		require.False(t, leave, foreign)
		require.Empty(t, boxmeta.Asked(m), foreign)
		require.Nil(t, boxmeta.Told(m), foreign)
	}
	boxed, leave := boxmeta.Announced(boxmeta.Meta{"ponte.sandbox": json.RawMessage(`{}`)})
	require.True(t, boxed)
	require.False(t, leave, "what is not said is not allowed")
	require.Nil(t, boxmeta.Told(boxmeta.Meta{"ponte.created": json.RawMessage(`["a",1]`)}), "not a part of a list")
}
