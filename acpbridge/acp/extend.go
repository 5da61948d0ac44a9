// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Params returns a copy of the parameters of the message whose handler has the ctx, as the peer
// wrote them, for fields that the types of this package do not have. It is nil for other contexts,
// and for messages without parameters.
func Params(ctx context.Context) json.RawMessage {
	in := incomingOf(ctx)
	if in == nil {
		return nil
	}
	return bytes.Clone(in.params)
}

// ExtendAnswer adds fields to the answer to the request whose handler has the ctx, for fields that
// the types of this package do not have. They are encoded as by [Marshal], to an object. [Merge]
// joins them with what the handler returns. If it is called again, they are joined with the earlier
// ones. An answer that is an error stays as it is. With a ctx that is not a request handler's, ok
// is false.
func ExtendAnswer(ctx context.Context, fields any) (ok bool, err error) {
	in := incomingOf(ctx)
	if in == nil || !in.request {
		return false, nil
	}
	more, err := Marshal(fields)
	if err != nil {
		return false, err
	}
	in.conn.mu.Lock()
	defer in.conn.mu.Unlock()
	if in.extra == nil {
		in.extra = json.RawMessage("{}")
	}
	merged, err := Merge(in.extra, more)
	if err == nil {
		in.extra = merged
	}
	return err == nil, err
}

// extended joins a result with what ExtendAnswer was given.
func (c *conn) extended(in *incoming, result message) (message, error) {
	c.mu.Lock()
	extra := in.extra
	c.mu.Unlock()
	if extra == nil {
		return result, nil
	}
	base, err := marshalJSON(result)
	if err == nil {
		base, err = Merge(base, extra)
	}
	if err != nil {
		return nil, fmt.Errorf("acp: the answer cannot be extended: %w", err)
	}
	return (*rawMessage)(&base), nil
}

// Merge returns a JSON object with the members of both. Where both have one, objects are merged,
// lists of the same length are merged element by element, and otherwise the second wins.
func Merge(base, more json.RawMessage) (json.RawMessage, error) {
	var a, b map[string]json.RawMessage
	if err := json.Unmarshal(base, &a); err != nil {
		return nil, fmt.Errorf("acp: merge: %w", err)
	}
	if err := json.Unmarshal(more, &b); err != nil {
		return nil, fmt.Errorf("acp: merge: %w", err)
	}
	if a == nil {
		a = map[string]json.RawMessage{}
	}
	for name, value := range b {
		a[name] = mergeValues(a[name], value)
	}
	e := newEncoder()
	defer e.release()
	e.rawMap(a)
	if e.err != nil {
		return nil, e.err
	}
	return bytes.Clone(e.b), nil
}

func mergeValues(a, b json.RawMessage) json.RawMessage {
	if isJSON(a, '{') && isJSON(b, '{') {
		if merged, err := Merge(a, b); err == nil {
			return merged
		}
	}
	var as, bs []json.RawMessage
	if !isJSON(a, '[') || !isJSON(b, '[') || json.Unmarshal(a, &as) != nil || json.Unmarshal(b, &bs) != nil || len(as) != len(bs) {
		return b
	}
	for i := range as {
		as[i] = mergeValues(as[i], bs[i])
	}
	merged, err := json.Marshal(as)
	if err != nil {
		return b
	}
	return merged
}

func isJSON(v json.RawMessage, first byte) bool {
	v = bytes.TrimLeft(v, " \t\r\n")
	return len(v) > 0 && v[0] == first
}
