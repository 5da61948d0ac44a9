// SPDX-License-Identifier: Apache-2.0

package session

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// Position is a place in a list: after the session with this time and id. The list is ordered by
// the time. Later pages have the sessions whose time is earlier, or equal with a smaller id.
type Position struct {
	// Time and ID identify the session.
	Time time.Time
	ID   string
}

type positionJSON struct {
	Time int64  `json:"t"`
	ID   string `json:"i"`
	// Query is a hash of what the query selects.
	Query string `json:"q"`
}

// Start checks the query and returns the position of its cursor, or nil for the first page. Errors
// wrap [ErrInvalid]. Implementations of [Store] use it.
func (q *Query) Start() (*Position, error) {
	if q.Order != OrderUpdated && q.Order != OrderCreated {
		return nil, fmt.Errorf("%w: order %q, must be %q or %q", ErrInvalid, q.Order, OrderUpdated, OrderCreated)
	}
	if q.Limit < 0 {
		return nil, fmt.Errorf("%w: a page of %d sessions", ErrInvalid, q.Limit)
	}
	if q.Cursor == "" {
		return nil, nil
	}
	var p positionJSON
	data, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil || p.ID == "" {
		return nil, fmt.Errorf(
			"%w: the cursor was not made by a list of sessions: use the Next of a page", ErrInvalid,
		)
	}
	if p.Query != q.hash() {
		return nil, fmt.Errorf("%w: the cursor belongs to another list: keep the Owner, Tenant, Dir, Parent, Conversations and Order of the first page", ErrInvalid)
	}
	return &Position{time.Unix(0, p.Time).UTC(), p.ID}, nil
}

// Next returns the cursor of the page that follows a session. Implementations of [Store] use it.
func (q *Query) Next(last *Info) string {
	data, err := json.Marshal(positionJSON{q.timeOf(last).UnixNano(), last.ID, q.hash()})
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// PageSize returns how many sessions a page has.
func (q *Query) PageSize() int {
	if q.Limit == 0 {
		return DefaultLimit
	}
	return min(q.Limit, MaxLimit)
}

// timeOf returns the time that orders the list.
func (q *Query) timeOf(i *Info) time.Time {
	if q.Order == OrderCreated {
		return i.Created
	}
	return i.Updated
}

func (q *Query) hash() string {
	selects := []string{q.Dir, q.Parent, string(q.Order)}
	if q.Conversations { // cursors from before there was such a thing stay valid
		selects = append(selects, "conversations")
	}
	if q.Owner != nil {
		selects = append(selects, "owner", q.Tenant, *q.Owner)
	} else if q.Tenant != "" {
		selects = append(selects, "tenant", q.Tenant)
	}
	data, err := json.Marshal(selects)
	if err != nil {
		panic(err) // it is made of strings
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// Selects reports whether a list of the query has a session, apart from pages. Implementations of
// [Store] can use it.
func (q *Query) Selects(i *Info) bool {
	switch {
	case q.Owner != nil && (i.Owner != *q.Owner || i.Tenant != q.Tenant):
		return false
	case q.Owner == nil && q.Tenant != "" && i.Tenant != q.Tenant:
		return false
	}
	return (q.Dir == "" || i.Dir == q.Dir) && (q.Parent == "" || i.Parent == q.Parent) && (!q.Conversations || !Internal(i))
}
