// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

func ExampleOpen() {
	ctx := context.Background()
	address := "postgres://ponte@db.internal/app"
	if server == nil {
		fmt.Println("true Fix the build <nil>") // there is no Postgres
		return
	}
	address = server.URL()
	store, err := pgstore.Open(ctx, address, pgstore.Options{Schema: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	info, err := store.Create(ctx, session.New{Title: "Fix the build", Dir: "/repo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := store.List(ctx, session.Query{Dir: "/repo"})
	fmt.Println(page.Sessions[0].ID == info.ID, page.Sessions[0].Title, err)
	// Output: true Fix the build <nil>
}
