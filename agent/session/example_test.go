// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/session"
)

func Example() {
	ctx := context.Background()
	var store session.Store = new(session.Memory)
	info, err := store.Create(ctx, session.New{ID: "s1", Title: "Fix the build", Dir: "/repo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := session.Open(ctx, store, info.ID, session.Claim{Holder: "the editor"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := w.Append(ctx, session.Entry{Kind: session.KindView, Key: "plan", Data: json.RawMessage(`["read","fix"]`)}); err != nil {
		fmt.Println(err)
	}

	// Another program is told who has the session.
	_, err = session.Open(ctx, store, info.ID, session.Claim{Holder: "a browser"})
	var held *session.Error
	if errors.Is(err, session.ErrHeld) && errors.As(err, &held) {
		fmt.Println("held by", held.Holder)
	}
	if err := w.Close(ctx); err != nil {
		fmt.Println(err)
	}
	for e, err := range store.Load(ctx, info.ID, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq, e.Kind, e.Key, string(e.Data))
	}
	// Output:
	// held by the editor
	// 1 view plan ["read","fix"]
}

func ExampleStore_list() {
	ctx := context.Background()
	store := new(session.Memory)
	for _, n := range []session.New{{ID: "a", Dir: "/repo"}, {ID: "b", Dir: "/other"}, {ID: "c", Dir: "/repo"}, {ID: "d", Dir: "/repo"}} {
		if _, err := store.Create(ctx, n); err != nil {
			fmt.Println(err)
			return
		}
	}
	q := session.Query{Dir: "/repo", Order: session.OrderCreated, Limit: 2}
	for {
		page, err := store.List(ctx, q)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, s := range page.Sessions {
			fmt.Println(s.ID)
		}
		fmt.Println("--")
		if q.Cursor = page.Next; q.Cursor == "" {
			return
		}
	}
	// Output:
	// d
	// c
	// --
	// a
	// --
}
