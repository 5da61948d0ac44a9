// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"encoding/base64"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

func (m *endpoint) checkMedia(p *model.Part) error {
	if err := adapter.CheckMedia(m.info, p); err != nil {
		return errs.Errorf("openaimodel: %w", err)
	}
	return nil
}

func (m *Model) appendMedia(dst []byte, p *model.Part) ([]byte, error) {
	if err := m.checkMedia(p); err != nil {
		return nil, err
	}
	mediaType, kind := adapter.MediaType(p)
	switch kind {
	case "image":
		return appendImageURL(dst, mediaType, p), nil
	case "audio":
		format := audioFormat(mediaType)
		if format == "" || len(p.Data) == 0 {
			return nil, m.unsupported("input of type " + mediaType + " (use WAV or MP3)")
		}
		dst = append(dst, `{"type":"input_audio","input_audio":{"data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, p.Data)
		dst = append(dst, `","format":"`...)
		dst = append(dst, format...)
		return append(dst, `"}}`...), nil
	case "application/pdf":
		dst = append(dst, `{"type":"file","file":{"filename":`...)
		dst = adapter.AppendJSONString(dst, cmp.Or(p.Name, "document.pdf"))
		dst = append(dst, `,"file_data":`...)
		dst = appendDataURL(dst, mediaType, p)
		return append(dst, "}}"...), nil
	}
	return nil, m.unsupported("input of type " + mediaType)
}

// audioFormat returns the name of a media type in the protocol, or "".
func audioFormat(mediaType string) string {
	switch mediaType {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

func appendImageURL(dst []byte, mediaType string, p *model.Part) []byte {
	dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
	return append(appendDataURL(dst, mediaType, p), "}}"...)
}

// appendDataURL appends the part's URL, or its data as a data URL, as a JSON string.
func appendDataURL(dst []byte, mediaType string, p *model.Part) []byte {
	if len(p.Data) == 0 {
		return adapter.AppendJSONString(dst, p.URL)
	}
	dst = append(dst, `"data:`...)
	dst = adapter.AppendJSONChars(dst, mediaType)
	dst = append(dst, ";base64,"...)
	dst = base64.StdEncoding.AppendEncode(dst, p.Data)
	return append(dst, '"')
}
