// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the shop, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shop" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func talk(t *testing.T, customer, notes string, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, support(t.Context(), "offline", customer, notes, strings.NewReader(strings.Join(lines, "\n")+"\n"), &out))
	return out.String()
}

func TestSupportLooksOrdersUp(t *testing.T) {
	out := talk(t, "ada", "", `use shop_order {"number":"17"}`)
	require.Contains(t, out, "a lamp")
	require.Contains(t, out, "[card number]")
	require.NotContains(t, out, "4111")
	out = talk(t, "ada", "", `use shop_order {"number":"18"}`)
	require.Contains(t, out, "There is no such order.")
	require.NotContains(t, out, "chair", "it is Bob's")
}

func TestLargeRefundsAreForAColleague(t *testing.T) {
	require.Contains(t, talk(t, "ada", "", `use shop_refund {"number":"17","amount":20}`), "Refunded 20")
	out := talk(t, "ada", "", `use shop_refund {"number":"17","amount":80}`, "y")
	require.Contains(t, out, "refunds of more than 50 are for a colleague")
	require.Contains(t, out, "Refunded 80")
	require.NotContains(t, talk(t, "ada", "", `use shop_refund {"number":"17","amount":80}`, "n"), "Refunded 80")
}

func TestSupportRemembersCustomers(t *testing.T) {
	out := talk(t, "ada", "", `use save_note {"name":"ada","text":"Ada likes silk."}`, `use search_notes {"query":"silk"}`)
	require.Contains(t, out, "Ada likes silk", "until the program ends")
	notes := t.TempDir()
	talk(t, "ada", notes, `use save_note {"name":"ada","text":"Ada is allergic to wool. 4111 1111 1111 1111"}`)
	out = talk(t, "ada", notes, `use search_notes {"query":"wool"}`)
	require.Contains(t, out, "allergic to wool")
	files, err := os.ReadDir(notes)
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(notes + "/" + files[0].Name())
	require.NoError(t, err)
	require.Contains(t, string(text), "[card number]")
	require.NotContains(t, string(text), "4111", "arguments are checked before a tool has them")
}
