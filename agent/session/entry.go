// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of an entry. Programs leave entries of unknown kinds unchanged.
type Kind string

const (
	// KindMessage is a message of the conversation. Data is an object whose "message" is a
	// model.Message. See package transcript for what may stand beside it.
	KindMessage Kind = "message"
	// KindStep is the result of a step of a run, in the form of the journal that recorded it. It is
	// needed until the run has ended.
	KindStep Kind = "step"
	// KindView is something that was shown but is not a message, such as a plan or the text of an
	// incomplete response.
	KindView Kind = "view"
	// KindDecision is a decision about a tool call: who decided, and what was shown.
	KindDecision Kind = "decision"
	// KindValue is a value that changed, such as the mode. Key is its name.
	KindValue Kind = "value"
	// KindItem is the data of an item of the inbox, for a [Processor]. No session has such entries.
	KindItem Kind = "item"
	// KindEnd is the end of the run that Run names.
	KindEnd Kind = "end"
)

// EntryVersion is the version of the JSON form of entries that this package writes. New kinds and
// new fields do not change it. It changes only if a program that knows an older version would
// misunderstand an entry.
const EntryVersion = 1

// Entry is one entry of a session.
type Entry struct {
	// Seq is the entry's number in its session. Numbers begin with 1 and grow; there may be gaps.
	Seq int64
	// Time is when the entry came about, in UTC and exact to the nanosecond. It lies between the
	// years 1970 and 2262.
	Time time.Time
	// Kind is the kind of the entry. It must not be empty.
	Kind Kind
	// Run is the id of the run that the entry belongs to, if any.
	Run string
	// Key identifies what the entry is about within its run, if anything.
	Key string
	// Data is the content as a JSON document. It may be nil.
	Data json.RawMessage
}

type entryJSON struct {
	Version int             `json:"v"`
	Seq     int64           `json:"seq,omitempty"`
	Time    time.Time       `json:"time,omitzero"`
	Kind    Kind            `json:"kind"`
	Run     string          `json:"run,omitempty"`
	Key     string          `json:"key,omitempty"`
	Data    json.RawMessage `json:"data,omitzero"`
}

// MarshalJSON writes the versioned form.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(entryJSON{EntryVersion, e.Seq, e.Time, e.Kind, e.Run, e.Key, e.Data})
}

// UnmarshalJSON reads the versioned form. An entry that a newer version of this package wrote is an
// error that wraps [ErrVersion].
func (e *Entry) UnmarshalJSON(data []byte) error {
	var form entryJSON
	if err := json.Unmarshal(data, &form); err != nil {
		return fmt.Errorf("session: entry: %w", err)
	}
	if form.Version > EntryVersion {
		return fmt.Errorf(
			"session: entry: %w: version %d, this program reads up to %d", ErrVersion, form.Version,
			EntryVersion,
		)
	}
	*e = Entry{form.Seq, form.Time, form.Kind, form.Run, form.Key, form.Data}
	return nil
}

var (
	firstTime = time.Unix(0, 0)
	lastTime  = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Prepare checks a batch to be appended behind head, and returns copies of its entries with numbers
// and times. Implementations of [Store] use it. The copies share their Data with the entries. The
// error wraps [ErrInvalid].
func (b *Batch) Prepare(head int64, now time.Time) ([]Entry, error) {
	if err := checkRefs(b.Consumed); err != nil {
		return nil, err
	}
	made := make([]Entry, len(b.Entries))
	for i, e := range b.Entries {
		switch {
		case e.Seq == 0:
			e.Seq = head + 1
		case e.Seq <= head:
			return nil, fmt.Errorf(
				"%w: entry %d has the number %d, must be greater than %d", ErrInvalid, i, e.Seq,
				head,
			)
		}
		head = e.Seq
		if e.Time.IsZero() {
			e.Time = now
		}
		if e.Time.Before(firstTime) || !e.Time.Before(lastTime) {
			return nil, fmt.Errorf(
				"%w: entry %d has the time %v, must be between the years 1970 and 2262", ErrInvalid,
				i, e.Time,
			)
		}
		e.Time = time.Unix(0, e.Time.UnixNano()).UTC()
		for _, text := range [...]string{string(e.Kind), e.Run, e.Key} {
			if !utf8.ValidString(text) {
				return nil, fmt.Errorf("%w: entry %d: %q is not UTF-8", ErrInvalid, i, text)
			}
		}
		if e.Kind == "" {
			return nil, fmt.Errorf("%w: entry %d has no kind", ErrInvalid, i)
		}
		if len(e.Data) > 0 && !json.Valid(e.Data) {
			return nil, fmt.Errorf("%w: the data of entry %d is not a JSON document", ErrInvalid, i)
		}
		made[i] = e
	}
	return made, nil
}

// Soft reports whether the batch need not survive the end of the machine: it has nothing but views.
// Implementations of [Store] can use it.
func (b *Batch) Soft() bool {
	return len(b.Entries) > 0 && len(b.Consumed) == 0 && !slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.Kind != KindView })
}

// Supersedes reports whether e takes the place of an earlier entry of its session: see the package
// documentation. Implementations of [Store] use it.
func (e *Entry) Supersedes(old *Entry) bool {
	switch e.Kind {
	case KindMessage:
		return (old.Kind == KindView || old.Kind == KindMessage) && e.Key != "" && e.Key == old.Key && e.Run == old.Run
	case KindEnd:
		return old.Kind == KindStep && (old.Run == e.Run || strings.HasPrefix(old.Run, e.Run+"/"))
	}
	return false
}

// Check reports what is wrong with the description of a session, with an error that wraps
// [ErrInvalid]. Implementations of [Store] use it.
func (n *New) Check() error {
	if !n.Created.IsZero() && (n.Created.Before(firstTime) || !n.Created.Before(lastTime)) {
		return fmt.Errorf(
			"%w: the session was created %v, must be between the years 1970 and 2262", ErrInvalid,
			n.Created,
		)
	}
	if n.ID != "" {
		if err := checkID(n.ID); err != nil {
			return err
		}
	}
	for _, name := range []string{n.Tenant, n.Owner} {
		if err := checkID(name); err != nil {
			return fmt.Errorf("tenant or owner: %w", err)
		}
	}
	if n.Limit < 0 {
		return fmt.Errorf("%w: a limit of %d sessions", ErrInvalid, n.Limit)
	}
	if !utf8.ValidString(n.Title) || !utf8.ValidString(n.Dir) {
		return fmt.Errorf("%w: title and directory must be UTF-8", ErrInvalid)
	}
	return checkValues(n.Values)
}

// Check reports what is wrong with a change, with an error that wraps [ErrInvalid]. Implementations
// of [Store] use it.
func (c *Change) Check() error {
	if c.Title != nil && !utf8.ValidString(*c.Title) {
		return fmt.Errorf("%w: the title must be UTF-8", ErrInvalid)
	}
	return checkValues(c.Values)
}

func checkValues(values map[string]json.RawMessage) error {
	for name, v := range values {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("%w: %q is not the name of a value", ErrInvalid, name)
		}
		if v != nil && (!json.Valid(v) || !utf8.Valid(v)) {
			return fmt.Errorf("%w: value %q is not a JSON document in UTF-8", ErrInvalid, name)
		}
	}
	return nil
}

func checkID(id string) error {
	if len(id) > 256 || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return fmt.Errorf(
			"%w: the id %.40q must have at most 256 bytes of UTF-8 and no control characters",
			ErrInvalid, id,
		)
	}
	return nil
}
