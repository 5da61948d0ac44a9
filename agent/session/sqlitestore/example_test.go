// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

func Example() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlitestore.Open(dir, sqlitestore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	info, err := store.Create(context.Background(), session.New{Title: "Fix the build", Dir: "/repo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := store.List(context.Background(), session.Query{Dir: "/repo"})
	fmt.Println(page.Sessions[0].ID == info.ID, page.Sessions[0].Title, err)
	// Output: true Fix the build <nil>
}
