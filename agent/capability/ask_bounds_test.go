// SPDX-License-Identifier: Apache-2.0

package capability_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/toolset"
)

// An answer of 16 KiB is shown to the model, and of a longer one as much.
func TestAnswersAreShownInPart(t *testing.T) {
	require.Equal(t, 16<<10, capability.MaxAnswer)
	for n, cut := range map[int]bool{16 << 10: false, 16<<10 + 1: true} {
		text := strings.Repeat("x", n)
		content, err := json.Marshal(map[string]string{"answer": text})
		require.NoError(t, err)
		want := "The user answered: " + text
		if cut {
			want = "The user answered: " + text[:16<<10] + "\n[The answer is longer.]"
		}
		require.Equal(t, want, told(t, &person{replies: []toolset.Reply{accept(string(content))}}, `{"question":"Which?"}`))
	}
}

// Another answer may be given if there is only one to choose.
func TestOneOptionIsNotTheOnlyAnswer(t *testing.T) {
	p := &person{replies: []toolset.Reply{accept(`{"answer":"Another answer"}`), accept(`{"answer":"Blue"}`)}}
	require.Equal(t, "The user answered: Blue", told(t, p, `{"question":"Which?","options":["Red"]}`))
	require.Contains(t, string(p.asked[0].Schema), `"enum":["Red","Another answer"]`)
	require.NotContains(t, string(p.asked[1].Schema), "enum")
}

// Options have up to 300 bytes for people, who must be able to tell them apart.
func TestOptionsAreShownInPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("é", n/2) + strings.Repeat("x", n%2) }
	p := &person{replies: []toolset.Reply{accept(fmt.Sprintf(`{"answer":%q}`, x(298)+"ab"))}}
	require.Equal(t, "The user answered: "+x(298)+"ab", told(t, p, fmt.Sprintf(`{"question":"Which?","options":[%q,%q]}`, x(298)+"ab", "other")))
	require.Contains(t, string(p.asked[0].Schema), fmt.Sprintf("%q", x(298)+"ab"))
	p = &person{replies: []toolset.Reply{accept(fmt.Sprintf(`{"answer":%q}`, x(296)+"…"))}}
	require.Equal(t, "The user answered: "+x(296)+"…", told(t, p, fmt.Sprintf(`{"question":"Which?","options":[%q,%q]}`, x(302), "other")))
	require.Contains(t, told(t, &person{}, fmt.Sprintf(`{"question":"Which?","options":[%q,%q]}`, x(400)+"a", x(400)+"b")), "two options are the same, or one is \"Another answer\", which is always offered")
}
