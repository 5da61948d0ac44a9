// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/session"
)

// Postgres has no NUL in texts, and nothing that is not UTF-8. NUL becomes the two characters
// U+E000 and 0, a byte that is not UTF-8 becomes U+E000, 2 and the byte in two hexadecimal digits,
// and U+E000, which is for private use, the two characters U+E000 and 1.
var (
	escape   = strings.NewReplacer("\x00", "\ue0000", "\ue000", "\ue0001")
	unescape = strings.NewReplacer("\ue0000", "\x00", "\ue0001", "\ue000")
)

// toText makes a text of Postgres of a string.
func toText(s string) string {
	if utf8.ValidString(s) {
		return escape.Replace(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, "\ue0002%02x", s[i])
		} else {
			b.WriteString(escape.Replace(s[i : i+n]))
		}
		i += n
	}
	return b.String()
}

// fromText is the opposite of toText.
func fromText(s string) string {
	if !strings.Contains(s, "\ue000") { // as almost always
		return s
	}
	parts := strings.Split(s, "\ue0002")
	for i, part := range parts {
		if i > 0 && len(part) >= 2 {
			if c, err := hex.DecodeString(part[:2]); err == nil {
				parts[i] = string(c) + unescape.Replace(part[2:])
				continue
			}
		}
		parts[i] = unescape.Replace(part)
	}
	return strings.Join(parts, "")
}

// encodeValues writes values as a JSON object of strings, which keeps every byte of them.
func encodeValues(values map[string]json.RawMessage) (string, error) {
	texts := map[string]string{}
	for name, v := range values {
		if v != nil {
			texts[toText(name)] = toText(string(v))
		}
	}
	data, err := json.Marshal(texts)
	return string(data), err
}

// encodeChanges is like encodeValues, with null for values that are to go.
func encodeChanges(values map[string]json.RawMessage) (string, error) {
	texts := map[string]*string{}
	for name, v := range values {
		texts[toText(name)] = nil
		if v != nil {
			text := toText(string(v))
			texts[toText(name)] = &text
		}
	}
	data, err := json.Marshal(texts)
	return string(data), err
}

func decodeValues(text string) (map[string]json.RawMessage, error) {
	var texts map[string]string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrCorrupt, err)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	values := map[string]json.RawMessage{}
	for name, v := range texts {
		values[fromText(name)] = json.RawMessage(fromText(v))
	}
	return values, nil
}

// place returns the key by which later entries can supersede an entry: a message with the same run
// and key, or the end of the run. It is nil for entries that cannot be superseded.
func place(e *session.Entry) *string {
	var p string
	switch {
	case e.Kind == session.KindStep:
		p = "run " + toText(e.Run)
	case (e.Kind == session.KindMessage || e.Kind == session.KindView) && e.Key != "":
		p = keyPlace(e)
	default:
		return nil
	}
	return &p
}

func keyPlace(e *session.Entry) string {
	run := toText(e.Run)
	return fmt.Sprintf("key %d %s %s", len(run), run, toText(e.Key))
}

// clears returns what an entry supersedes: a key, or the steps of a run.
func clears(e *session.Entry) (key, run *string) {
	switch {
	case e.Kind == session.KindMessage && e.Key != "":
		p := keyPlace(e)
		return &p, nil
	case e.Kind == session.KindEnd:
		r := toText(e.Run)
		return nil, &r
	}
	return nil, nil
}
