// SPDX-License-Identifier: Apache-2.0

package acp

import "bytes"

// endLine closes the message and ends its line.
func (e *encoder) endLine() { e.b = append(e.b, '}', '\n') }

// beginNotification returns an encoder that holds a notification up to its parameters.
func beginNotification(method string) *encoder {
	e := newEncoder()
	e.b = append(e.b, `{"jsonrpc":"2.0","method":`...)
	e.string(method)
	e.b = append(e.b, `,"params":`...)
	return e
}

// beginRequest is beginNotification for a request.
func beginRequest(id RequestID, method string) *encoder {
	e := newEncoder()
	e.b = append(e.b, `{"jsonrpc":"2.0","id":`...)
	id.encode(e)
	e.b = append(e.b, `,"method":`...)
	e.string(method)
	e.b = append(e.b, `,"params":`...)
	return e
}

// encodeResponse returns the line that answers with the result, or with the error if it is not nil.
func encodeResponse(id RequestID, result message, failure *Error) *encoder {
	e := newEncoder()
	e.b = append(e.b, `{"jsonrpc":"2.0","id":`...)
	id.encode(e)
	if failure != nil {
		e.b = append(e.b, `,"error":`...)
		failure.encode(e)
	} else {
		e.b = append(e.b, `,"result":`...)
		e.message(result)
	}
	e.endLine()
	return e
}

// rawMessage lets JSON of the user's pass through the typed paths.
type rawMessage []byte

func (m *rawMessage) encode(e *encoder) {
	if *m == nil {
		e.b = append(e.b, "{}"...)
	} else {
		e.raw([]byte(*m))
	}
}

func (m *rawMessage) decode(d *decoder) { *m = rawMessage(bytes.Clone(d.data)) }
