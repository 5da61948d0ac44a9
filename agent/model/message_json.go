// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MessageVersion is the version of the JSON form of messages that this package writes. It reads all
// versions up to this one.
const MessageVersion = 1

// ErrMessageVersion is returned for a message written by a newer version of this package.
var ErrMessageVersion = errors.New("message version is newer than this program")

// messageFields has the fields of Message but not its methods.
type messageFields Message

type messageJSON struct {
	Version int `json:"v"`
	*messageFields
}

// MarshalJSON writes the versioned form.
func (m *Message) MarshalJSON() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return json.Marshal(messageJSON{MessageVersion, (*messageFields)(m)})
}

// UnmarshalJSON reads the versioned form. For a message written by a newer version of this package
// it returns [ErrMessageVersion] rather than losing data. A message that is neither a request nor a
// response is also an error.
func (m *Message) UnmarshalJSON(data []byte) error {
	var read Message
	form := messageJSON{messageFields: (*messageFields)(&read)}
	err := json.Unmarshal(data, &form)
	if err != nil { // perhaps because of the version
		var only struct {
			Version int `json:"v"`
		}
		if json.Unmarshal(data, &only) == nil {
			form.Version = only.Version
		}
	}
	if form.Version > MessageVersion {
		return fmt.Errorf("model: %w: %d, this program reads up to %d", ErrMessageVersion, form.Version, MessageVersion)
	}
	if err != nil {
		return fmt.Errorf("model: message: %w", err)
	}
	if err := read.check(); err != nil {
		return err
	}
	*m = read
	return nil
}

func (m *Message) check() error {
	if m.Kind != KindRequest && m.Kind != KindResponse {
		return fmt.Errorf("model: message: kind is %q, must be %q or %q", m.Kind, KindRequest, KindResponse)
	}
	for i := range m.Parts {
		if m.Parts[i].Kind == "" {
			return fmt.Errorf("model: message: part %d has no kind", i)
		}
	}
	return nil
}
