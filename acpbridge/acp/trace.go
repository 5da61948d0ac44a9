// SPDX-License-Identifier: Apache-2.0

package acp

// Direction is the way that a message goes.
type Direction uint8

// Directions.
const (
	Received Direction = iota
	Sent
)

func (d Direction) String() string {
	if d == Sent {
		return "sent"
	}
	return "received"
}

// Event describes a message that went over the connection, without its payload.
type Event struct {
	Direction Direction // from this side or to it
	Kind      Kind      // request, answer or notification
	Method    string    // "" for an answer that was received
	ID        string    // the request's id as JSON; "" for a notification
	Size      int       // of the line, in bytes
	Problem   string    // why the message was dropped or refused; "" if it was not
}

// Kind is the kind of a message.
type Kind uint8

// Kinds of messages.
const (
	KindInvalid Kind = iota // not a message of the protocol
	KindRequest
	KindNotification
	KindResponse
	KindError // an answer that reports an error
)

func (k Kind) String() string {
	switch k {
	case KindRequest:
		return "request"
	case KindNotification:
		return "notification"
	case KindResponse:
		return "response"
	case KindError:
		return "error"
	}
	return "invalid"
}
