// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/inboxtest"
)

var items = flag.Int("items", 1000, "how many items are put into inboxes whose runners are killed with kill -9")

func openInbox(spec string) (inboxtest.Store, error) {
	schema, url, _ := strings.Cut(spec, "\n")
	return pgstore.Open(context.Background(), url, pgstore.Options{Schema: schema})
}

// TestKilledRunnersConsumeEachItemOnce has 8 processes put items, and 3 that are killed at random consume them.
func TestKilledRunnersConsumeEachItemOnce(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	inboxtest.Run(t, s, schema+"\n"+url, *items, 8, 3)
}
