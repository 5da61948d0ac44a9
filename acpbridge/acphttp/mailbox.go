// SPDX-License-Identifier: Apache-2.0

package acphttp

import "time"

// mailbox holds the messages of a stream: those that wait, and before them the latest that have
// been sent, for a client that resumes. Messages are numbered from 1. The connection's mu guards
// it.
type mailbox struct {
	lines   [][]byte
	sent    int    // how many of lines have been sent
	last    uint64 // the number of the last line
	waiting int    // bytes that have not been sent
	kept    int    // bytes that have
	reader  *reader
	moved   time.Time // when its client last took something
	lost    bool      // messages have been dropped: nothing is kept until the stream is opened again
	held    []held
}

// held is a message for the connection's stream that goes out after a message of this one.
type held struct {
	after uint64
	line  []byte
}

func (b *mailbox) add(line []byte) {
	b.lines = append(b.lines, line)
	b.last++
	b.waiting += len(line)
}

func (b *mailbox) unsent() int { return len(b.lines) - b.sent }

// next returns the first message that has not been sent, and its number.
func (b *mailbox) next() (line []byte, number uint64) {
	return b.lines[b.sent], b.last - uint64(b.unsent()) + 1
}

// advance notes that the next message has been sent. At most keep bytes of such are kept.
func (b *mailbox) advance(keep int) {
	n := len(b.lines[b.sent])
	b.sent++
	b.waiting -= n
	for b.kept += n; b.kept > keep; b.sent-- {
		b.kept -= len(b.lines[0])
		b.lines[0] = nil
		b.lines = b.lines[1:]
	}
}

// rewind makes the message after the given number the next one. It is false if that is not kept.
func (b *mailbox) rewind(number uint64) bool {
	first := b.last - uint64(len(b.lines)) // the number before the first line
	if number < first || number > b.last {
		return false
	}
	b.sent, b.kept, b.waiting = int(number-first), 0, 0
	for i, line := range b.lines {
		if i < b.sent {
			b.kept += len(line)
		} else {
			b.waiting += len(line)
		}
	}
	return true
}

// lose drops all messages, and ends the reader. It returns those that have not been sent.
func (b *mailbox) lose() [][]byte {
	unsent := b.lines[b.sent:]
	b.lines, b.sent, b.waiting, b.kept, b.lost = nil, 0, 0, 0, true
	if b.reader != nil {
		b.reader.stop()
	}
	return unsent
}

// free returns the held messages that need not wait any longer: without a reader, none of them.
func (b *mailbox) free() (lines [][]byte) {
	done := b.last - uint64(b.unsent())
	for len(b.held) > 0 && (b.reader == nil || b.lost || b.held[0].after <= done) {
		lines = append(lines, b.held[0].line)
		b.held = b.held[1:]
	}
	return lines
}
