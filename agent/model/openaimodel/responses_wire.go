// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"encoding/json"

	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// itemEvent is an event of a stream, with the fields of all kinds.
type itemEvent struct {
	Type         text            `json:"type"`
	Delta        text            `json:"delta"`
	OutputIndex  *int            `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	ContentIndex int             `json:"content_index"`
	ItemID       text            `json:"item_id"`
	Item         json.RawMessage `json:"item"`
	Annotation   json.RawMessage `json:"annotation"`
	Response     *responseObject `json:"response"`
}

// responseObject is a complete response.
type responseObject struct {
	ID         text     `json:"id"`
	Model      text     `json:"model"`
	Status     text     `json:"status"`
	Error      rawValue `json:"error"`
	Incomplete struct {
		Reason text `json:"reason"`
	} `json:"incomplete_details"`
	Output []json.RawMessage `json:"output"`
	Usage  *itemUsage        `json:"usage"`
}

// outputItem is an item of a response, with the fields of all supported kinds.
type outputItem struct {
	ID      text `json:"id"`
	Type    text `json:"type"`
	Phase   text `json:"phase"`
	Content []struct {
		Type    text `json:"type"`
		Text    text `json:"text"`
		Refusal text `json:"refusal"`
		// Annotations holds sources.
		Annotations []json.RawMessage `json:"annotations"`
	} `json:"content"`
	Summary []struct {
		Text text `json:"text"`
	} `json:"summary"`
	EncryptedContent text      `json:"encrypted_content"`
	CallID           text      `json:"call_id"`
	Name             text      `json:"name"`
	Namespace        rawValue  `json:"namespace"`
	Caller           rawValue  `json:"caller"`
	Arguments        arguments `json:"arguments"`
	Result           text      `json:"result"`
	OutputFormat     text      `json:"output_format"`
}

// lenient decodes data into v. Fields of a wrong type are left out, because the rest may be
// sufficient.
func lenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if wrongType := (*json.UnmarshalTypeError)(nil); errs.As(err, &wrongType) {
		return nil
	}
	return err
}

// withoutStatus returns an item on one line, without the status that the endpoint adds to reasoning
// items but does not accept.
func withoutStatus(item []byte) []byte {
	d := parseDetail(item)
	if d == nil {
		return nil
	}
	out := []byte{'{'}
	for _, m := range d.members {
		if m.Name == "status" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(adapter.AppendJSONString(out, m.Name), ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// compacted returns JSON on one line.
func compacted(data []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return nil
	}
	return b.Bytes()
}
