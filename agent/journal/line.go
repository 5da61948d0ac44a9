// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"unicode/utf8"
)

// formatVersion is the version of the file format that this package writes. It reads all versions
// up to this one.
const formatVersion = 1

// A file consists of JSON lines. Each holds a document, numbered from 0, and the CRC-32C of number
// and document, which reveals lines that are damaged, missing or out of place. Document 0 is the
// header, the others are the records.
const (
	lineNumber = `{"n":`
	lineSum    = `,"sum":"`
	lineBody   = `","rec":`
	lineEnd    = "}\n"
)

type header struct {
	Format  string `json:"format"`
	Version int    `json:"v"`
	// Run is the run's id. An id that is not valid UTF-8 is in RunBytes instead.
	Run      string `json:"run,omitempty"`
	RunBytes []byte `json:"run_bytes,omitempty"`
}

const formatName = "ponte journal"

func (h *header) run() string { return h.Run + string(h.RunBytes) }

func sumOf(number, body []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // which makes it once
	return crc32.Update(crc32.Checksum(number, castagnoli), castagnoli, body)
}

// appendLine appends the line of a document to buf.
func appendLine(buf []byte, n int, body []byte) []byte {
	buf = append(buf, lineNumber...)
	number := len(buf)
	buf = strconv.AppendInt(buf, int64(n), 10)
	sum := sumOf(buf[number:], body)
	buf = append(buf, lineSum...)
	buf = fmt.Appendf(buf, "%08x", sum)
	buf = append(buf, lineBody...)
	buf = append(buf, body...)
	return append(buf, lineEnd...)
}

// parseLine parses a line, with or without its newline. It reports false for anything that
// appendLine does not write.
func parseLine(line []byte) (n int, body []byte, ok bool) {
	rest, begins := bytes.CutPrefix(line, []byte(lineNumber))
	number, rest, _ := bytes.Cut(rest, []byte(lineSum))
	sum, rest, _ := bytes.Cut(rest, []byte(lineBody)) // if a cut fails, the sum is wrong
	body, ends := bytes.CutSuffix(rest, []byte(lineEnd))
	n, _ = strconv.Atoi(string(number)) // if it is not a number, it is not written like n
	if !begins || !ends || string(number) != strconv.Itoa(n) || string(sum) != fmt.Sprintf("%08x", sumOf(number, body)) {
		return 0, nil, false
	}
	return n, body, true
}

func headerLine(run string) []byte {
	h := header{Format: formatName, Version: formatVersion}
	if utf8.ValidString(run) {
		h.Run = run
	} else {
		h.RunBytes = []byte(run)
	}
	body, err := json.Marshal(h)
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return appendLine(nil, 0, body)
}

// parseFile returns the records in a file and the length of its valid part. The rest was left by a
// write that never succeeded. The valid length of a file that is empty, or ends within its header,
// is 0.
func parseFile(data []byte, run string) (records [][]byte, good int, err error) {
	for n := 0; good < len(data); n++ {
		end := bytes.IndexByte(data[good:], '\n') + 1
		line := data[good : good+end]
		number, body, ok := parseLine(line)
		switch {
		case ok && number != n:
			return nil, 0, fmt.Errorf("%w: line %d claims to be line %d", ErrCorrupt, n+1, number+1)
		case ok && n > 0:
			records = append(records, body)
		case ok:
			if err := checkHeader(body, run); err != nil {
				return nil, 0, err
			}
		case n == 0 && bytes.HasPrefix(headerLine(run), bytes.TrimRight(data, "\x00")):
			return nil, 0, nil
		case n > 0 && torn(data[good:]):
			return records, good, nil
		default:
			return nil, 0, fmt.Errorf("%w: line %d, byte %d of the file", ErrCorrupt, n+1, good)
		}
		good += end
	}
	return records, good, nil
}

// torn reports whether the end of a file, which does not begin with a good line, was left by a
// write that was cut off: its first line lacks its newline, or blocks of it were never written, and
// nothing follows that is whole. Zeros cannot be part of a line, since JSON escapes them. Any other
// line may have been whole once.
func torn(tail []byte) bool {
	first := true
	for line := range bytes.Lines(tail) {
		if first && line[len(line)-1] == '\n' && bytes.IndexByte(line, 0) < 0 {
			return false
		}
		if _, _, ok := parseLine(line); ok {
			return false
		}
		first = false
	}
	return true
}

func checkHeader(body []byte, run string) error {
	var h header
	if err := json.Unmarshal(body, &h); err != nil || h.Format != formatName {
		return fmt.Errorf("%w: it has no header", ErrCorrupt)
	}
	if h.Version > formatVersion {
		return fmt.Errorf("%w: version %d, this program reads up to %d", ErrVersion, h.Version, formatVersion)
	}
	if h.run() != run {
		return fmt.Errorf("%w: the file belongs to run %q", ErrMismatch, h.run())
	}
	return nil
}
