// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/acpview"
)

func TestPromptsThatWaitAreOnTheScreen(t *testing.T) {
	d := newDesk(t, 60, 20)
	require.NotContains(t, d.shown(), "waiting")
	var all []acpview.Waiting
	for i := range 5 {
		all = append(all, acpview.Waiting{ID: fmt.Sprint(i), Version: 1, Number: fmt.Sprint(10 + i), Text: fmt.Sprintf("prompt %d\x1b[31m", i)})
	}
	d.updates(acpview.WaitingInfo(all))
	shown := d.shown()
	require.Contains(t, shown, "  waits 10: prompt 0")
	require.Contains(t, shown, "  waits 12: prompt 2")
	require.NotContains(t, shown, "prompt 3")
	require.NotContains(t, shown, "\x1b")
	require.Contains(t, shown, "  5 waiting: /waiting changes them")
	all[1].Version, all[1].Number, all[1].Text = 2, "11.2", "another one"
	d.updates(acpview.WaitingInfo(all[1:]))
	shown = d.shown()
	require.NotContains(t, shown, "prompt 0")
	require.Contains(t, shown, "  waits 11.2: another one")
	require.Contains(t, shown, "  4 waiting: /waiting changes them")
	d.updates(acpview.WaitingInfo(nil))
	require.NotContains(t, d.shown(), "waiting")
	d.updates(acpview.WaitingInfo(all))
	d.Opened("", true)
	require.NotContains(t, d.shown(), "waiting", "they belong to the session")
	d.Told("- 1: `` x ``")
	require.Contains(t, d.shown(), "• 1: x")
}
