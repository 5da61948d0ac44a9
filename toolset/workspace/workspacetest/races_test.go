// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What rules about calls at the same time ask for does not depend on who comes first: the calls are
// the same, in any order. Calls that are made as often as there is time for them are left out.
func TestRacesAsk(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		rule string
		left []string // methods
	}{
		{"of several writers of a version one wins", nil},
		{"a reader sees the old contents or the new", []string{"Read"}},
		{"a link that changes while it is used leads nowhere", []string{"disk.Remove", "disk.Symlink"}},
	} {
		m, says, _ := spoil(t, c.rule, spoiled{})
		require.Empty(t, says, c.rule)
		asked := map[string]int{}
		for _, call := range m.calls {
			if !slices.Contains(c.left, call.method) {
				asked[call.text]++
			}
		}
		var all []string
		for text, n := range asked {
			text = long.ReplaceAllStringFunc(text, func(s string) string { return fmt.Sprintf("%.20s…(%d bytes)", s, len(s)) })
			all = append(all, fmt.Sprintf("%s, %d times", text, n))
		}
		slices.Sort(all)
		fmt.Fprintf(&b, "# %s\n%s\n", c.rule, strings.Join(all, "\n"))
	}
	golden(t, "races", b.String())
}
